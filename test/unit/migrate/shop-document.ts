// The document of the contract's example with one of everything, as the tests of this folder use it.

import { parseSchemaDocument } from '../../../src/document/document.ts';
import type { SchemaDocument } from '../../../src/document/format.ts';
import { parseExact } from '../../../src/model/exact-json.ts';

export const SHOP_TEXT = `{
  "entities": {
    "customers": {
      "description": "People who buy",
      "fields": {
        "name": { "type": "string", "required": true, "maxLength": 200 },
        "email": { "type": "string", "unique": true },
        "country": { "type": "string", "index": true, "default": "it's \\\\ here" },
        "points": { "type": "bigint", "min": -9223372036854775808, "default": 9007199254740993 },
        "token": { "type": "uuid", "default": "uuid" },
        "since": { "type": "date", "default": "now", "min": "2000-01-01" },
        "extra": { "type": "json", "default": { "rate": 1.10 } },
        "weight": { "type": "float", "max": 1e3 },
        "active": { "type": "boolean", "default": true }
      },
      "relations": {
        "orders": { "kind": "hasMany", "entity": "orders", "inverse": "customer" },
        "passport": { "kind": "hasOne", "entity": "passports", "inverse": "holder" }
      },
      "timestamps": true
    },
    "passports": {
      "fields": { "number": { "type": "text", "required": true } },
      "relations": { "holder": { "kind": "belongsTo", "entity": "customers", "required": true, "unique": true, "onDelete": "cascade" } }
    },
    "orders": {
      "fields": {
        "status": { "type": "enum", "values": ["open", "paid", "it's"], "default": "open" },
        "total": { "type": "decimal", "precision": 12, "scale": 2, "min": 0, "max": "99.5" },
        "placedAt": { "type": "datetime", "default": "now" }
      },
      "relations": {
        "customer": { "kind": "belongsTo", "entity": "customers", "required": true },
        "parent": { "kind": "belongsTo", "entity": "orders", "column": "parentOrder", "onDelete": "setNull" },
        "tags": { "kind": "manyToMany", "entity": "tags", "through": "orderTags", "from": "order", "to": "tag" }
      },
      "indexes": [{ "fields": ["status", "placedAt"] }],
      "settings": { "defaultExpand": ["customer"], "expandable": ["customer", "tags"], "maxExpandDepth": 3, "defaultFields": ["id", "status", "total", "customer"] },
      "rowRules": [{ "column": "status", "claim": "status" }]
    },
    "tags": { "fields": { "label": { "type": "string", "required": true } } },
    "orderTags": {
      "relations": {
        "order": { "kind": "belongsTo", "entity": "orders", "required": true, "onDelete": "cascade" },
        "tag": { "kind": "belongsTo", "entity": "tags", "required": true }
      },
      "indexes": [{ "fields": ["orderId", "tagId"], "unique": true }]
    }
  }
}`;

/** The shop, parsed; `change` works on the JSON before that. */
// biome-ignore lint/suspicious/noExplicitAny: tests change JSON freely
export function shop(change: (json: any) => void = () => undefined): SchemaDocument {
  const json = parseExact(SHOP_TEXT);
  change(json);
  return parsed(json);
}

export function parsed(json: unknown, inForce?: SchemaDocument): SchemaDocument {
  const result = parseSchemaDocument(json, inForce);
  if (!result.ok) throw new Error(JSON.stringify(result.details, null, 2));
  return result.document;
}
