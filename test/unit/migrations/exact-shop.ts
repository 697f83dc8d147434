// The shop with one of everything that a document can say, numbers with all their digits: what migrations change in tests.

import { parseExact } from '../../../src/model/exact-json.ts';
import { parseSchemaDocument } from '../../../src/schema/document.ts';
import type { SchemaDocument } from '../../../src/schema/format.ts';
import { SHOP } from '../../support/shop-document.ts';

const { customers, orders, tags, orderTags } = SHOP;
const text = JSON.stringify;
/** Members of an object, to stand among others. */
const members = (object: object): string => text(object).slice(1, -1);

export const SHOP_TEXT = `{
  "entities": {
    "customers": {
      "description": "People who buy",
      "fields": {
        ${members(customers.fields)},
        "country": { "type": "string", "index": true, "default": "it's \\\\ here" },
        "points": { "type": "bigint", "min": -9223372036854775808, "default": 9007199254740993 },
        "token": { "type": "uuid", "default": "uuid" },
        "since": { "type": "date", "default": "now", "min": "2000-01-01" },
        "extra": { "type": "json", "default": { "rate": 1.10 } },
        "weight": { "type": "float", "max": 1e3 },
        "active": { "type": "boolean", "default": true }
      },
      "relations": {
        "orders": ${text(customers.relations.orders)},
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
        "status": ${text({ ...orders.fields.status, values: ['open', 'paid', "it's"] })},
        "total": ${text({ ...orders.fields.total, max: '99.5' })},
        "placedAt": ${text({ ...orders.fields.placedAt, default: 'now' })}
      },
      "relations": {
        "customer": ${text(orders.relations.customer)},
        "parent": { "kind": "belongsTo", "entity": "orders", "column": "parentOrder", "onDelete": "setNull" },
        "tags": ${text(orders.relations.tags)}
      },
      "indexes": [{ "fields": ["status", "placedAt"] }],
      "settings": { "defaultExpand": ["customer"], "expandable": ["customer", "tags"], "maxExpandDepth": 3, "defaultFields": ["id", "status", "total", "customer"] },
      "rowRules": [{ "column": "status", "claim": "status" }]
    },
    "tags": { "fields": ${text(tags.fields)} },
    "orderTags": {
      "relations": {
        "order": ${text(orderTags.relations.order)},
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
