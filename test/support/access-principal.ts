// Users whose rights are drawn at random, as the fuzz of access sees them. Only this file knows whether these are row rules,
// or grants of roles.
import fc, { type GeneratorValue } from 'fast-check';
import type { WorldKind } from './access-worlds.ts';
import { drawGrants, drawUser, makeCredential, typeFields, withGrants } from './grants-arbitrary.ts';
import { GrantsModel } from './grants-model.ts';
import type { Issuer } from './issuer.ts';
import { type Drawn, documentOf, drawClaims, drawEntities, drawRules } from './row-rules-arbitrary.ts';
import { type Model, makeRowModel } from './row-rules-read-model.ts';
import { makeView, type View } from './row-rules-view.ts';
import type { Write } from './row-rules-write-model.ts';
import type { TestWorkspace } from './server.ts';
import { makeUsers } from './users.ts';

export interface Principal {
  readonly schema: ReadonlyMap<string, Drawn>;
  readonly document: object;
  /** Makes its credential in a workspace. */
  makeCredential(workspace: TestWorkspace, issuer: Issuer): Promise<string>;
  /** Whether the record is hidden, as the records are now. */
  isHidden(model: Model, entity: string, id: number): boolean;
  /** Whether a field of a visible record is hidden. */
  isMasked(model: Model, entity: string, id: number, field: string): boolean;
  /** States in which the writes may answer, for what they show of hidden records. */
  listStates(model: Model, writes: readonly Write[]): readonly Model[];
  /** What the principal sees, for requests to draw. */
  view(model: Model): View;
  /** What exists for it, for reads to draw. */
  readable(model: Model): Model;
  /** In words. */
  readonly description: object;
}

/** Draws entities with row rules, and the claims of a user. */
export function drawRuledPrincipal(g: GeneratorValue): Principal {
  const schema = drawEntities(g);
  drawRules(g, schema);
  const claims = drawClaims(g);
  const rules = Object.fromEntries([...schema].map(([name, entity]) => [name, entity.rules]));
  return {
    schema,
    document: documentOf(schema),
    makeCredential: async (workspace, issuer) => (await makeUsers(workspace, issuer, 'READ_WRITE'))(claims),
    isHidden: (model, entity, id) =>
      !makeRowModel(model, claims)
        .visible(entity)
        .some((record) => record.id === id),
    isMasked: () => false,
    listStates: () => [],
    view: (model) => makeView(schema, model, claims),
    readable: (model) => model,
    description: { claims, rules },
  };
}

/** Draws entities with grants, and a user, or a key that acts as a role. */
export function drawGrantedPrincipal(g: GeneratorValue, kind: WorldKind): Principal {
  const schema = drawEntities(g);
  typeFields(schema);
  // Grants look at hidden records, and at all fields, but not at those that differ.
  const grants = drawGrants(g, schema, { unread: BLANKS, isLocal: kind === 'absent' });
  const user = drawUser(g);
  const granted = new GrantsModel(schema, grants, user);
  const view = (model: Model): Model => granted.view(model);
  const readsPart = g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= 80;
  return {
    schema,
    document: withGrants(schema, grants),
    makeCredential: (workspace, issuer) => makeCredential(workspace, issuer, user),
    isHidden: (model, entity, id) => view(model)[entity]?.records.some((record) => record.id === id) !== true,
    isMasked: (model, entity, id, field) => !granted.showsField(entity, id, field, model),
    listStates: (model, writes) => granted.run(model, writes, false).map((step) => step.model),
    view: (model) => {
      const seen = view(model);
      return {
        visible: (entity) => seen[entity]?.records ?? [],
        isStamped: (entity, column) => granted.listStamped(entity).has(column),
      };
    },
    readable: (model) => {
      const seen = view(model);
      return readsPart && Object.keys(seen).length > 0 ? seen : model;
    },
    description: { user, grants },
  };
}

/** Fields whose values differ in the two worlds where they are hidden. */
export const BLANKS = ['word', 'number'] as const;
