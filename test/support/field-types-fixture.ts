// The workspace that tests of the pure modules plan against, and the principals who ask: made as the server makes them,
// from a schema document, without a database.

import { STATEMENT_FORMS } from '../../src/citus/statement-forms.ts';
import type { Entity, MigrationGate } from '../../src/model/entity.ts';
import { NO_NAMES } from '../../src/model/physical-name.ts';
import type { External, Operator, Owner, Principal } from '../../src/model/principal.ts';
import { getEntity, type Workspace } from '../../src/model/workspace.ts';
import type { PlanContext } from '../../src/plan/link.ts';
import { parseSchemaDocument } from '../../src/schema/document.ts';
import type { EntityDocument, SchemaDocument } from '../../src/schema/format.ts';
import { makeWorkspace } from '../../src/store/load-workspace.ts';
import { SHOP as BASE } from './shop-document.ts';

/** Every kind of relation, one entity with every type, no settings and no row rules. */
export const SHOP = {
  entities: {
    ...BASE,
    customers: {
      ...BASE.customers,
      fields: { ...BASE.customers.fields, country: { type: 'string', index: true } },
      timestamps: true,
    },
    orders: {
      ...BASE.orders,
      fields: { ...BASE.orders.fields, placedAt: { ...BASE.orders.fields.placedAt, default: 'now' } },
    },
    items: { ...BASE.items, fields: { product: { type: 'string' }, ...BASE.items.fields } },
    categories: {
      fields: { name: { type: 'string' } },
      relations: {
        parent: { kind: 'belongsTo', entity: 'categories' },
        children: { kind: 'hasMany', entity: 'categories', inverse: 'parent' },
      },
    },
    things: {
      fields: {
        aString: { type: 'string', maxLength: 3 },
        aText: { type: 'text' },
        anInteger: { type: 'integer', min: -5, max: 5 },
        aBigint: { type: 'bigint' },
        aDecimal: { type: 'decimal', precision: 5, scale: 2 },
        aFreeDecimal: { type: 'decimal' },
        aFloat: { type: 'float', max: 100 },
        aBoolean: { type: 'boolean' },
        aDate: { type: 'date', min: '2020-01-01' },
        aDatetime: { type: 'datetime', max: '2030-01-01T00:00:00Z' },
        aUuid: { type: 'uuid' },
        aJson: { type: 'json' },
        anEnum: { type: 'enum', values: ['red', 'green'] },
        aTime: { type: 'time', min: '08:00' },
      },
    },
  },
} as const;

/** What a test changes in entities of SHOP. */
export type Changes = Readonly<Record<string, Partial<EntityDocument>>>;

/** The shop as a snapshot; `changes` are laid over its entities. */
export function makeShop(changes: Changes = {}): Workspace {
  const entities: Record<string, unknown> = { ...SHOP.entities };
  for (const [name, change] of Object.entries(changes)) {
    entities[name] = { ...(entities[name] as object | undefined), ...change };
  }
  return workspaceOf({ entities });
}

/** The snapshot of any document that the parser accepts. */
export function workspaceOf(document: unknown): Workspace {
  const parsed = parseSchemaDocument(document);
  if (!parsed.ok) throw new TypeError(JSON.stringify(parsed.details));
  return makeWorkspace({ ...IDENTITY, document: parsed.document as SchemaDocument });
}

const IDENTITY = {
  id: '7',
  organization: 'acme',
  slug: 'shop',
  name: 'shop',
  version: '1',
  databaseSchema: 'ws7_shop',
  names: NO_NAMES,
  entityIds: {},
  gates: {},
} as const;

/** The snapshot while a migration of the entity runs. */
export function withGate(workspace: Workspace, name: string, gate: MigrationGate): Workspace {
  const entity: Entity = { ...getEntity(workspace, name), gate };
  return { ...workspace, entities: new Map([...workspace.entities, [name, entity]]) };
}

/** The snapshot where the tables lie on a node of a cluster. */
export function distributed(workspace: Workspace): Workspace {
  const entities = [...workspace.entities].map(
    ([name, entity]) => [name, { ...entity, statementForms: STATEMENT_FORMS }] as const,
  );
  return { ...workspace, entities: new Map(entities) };
}

export const OWNER: Owner = {
  kind: 'owner',
  permissions: 'OWNER',
  workspaceId: '7',
  scope: null,
  credentialId: 'key:1',
};
export const OPERATOR: Operator = { kind: 'operator', scope: null, credentialId: 'operator' };

/** A user of the identity provider with these claims. */
export function external(
  claims: Readonly<Record<string, unknown>>,
  permissions: External['permissions'] = 'READ_WRITE',
  roles: readonly string[] = [],
): External {
  return {
    kind: 'external',
    permissions,
    workspaceId: '7',
    scope: null,
    credentialId: 'sub:1',
    claims,
    roles,
    onlyGrants: false,
  };
}

export function makePlanContext(workspace: Workspace = makeShop(), principal: Principal = OWNER): PlanContext {
  return { workspace, principal };
}

export const LIMITS = { maxPageSize: 1000 } as const;
