// Random grants, and users and keys that are held to them, on the entities of row-rules-arbitrary.ts with fields of more
// types.

import assert from 'node:assert/strict';
import fc, { type GeneratorValue } from 'fast-check';
import type { GrantDocument, Grants, User, Where } from './grants-model.ts';
import { drawTellingGrants } from './grants-telling.ts';
import type { Issuer } from './issuer.ts';
import { type Drawn, drawClaims, drawEntities, drawRules, NAMES, VALUES, WORDS } from './row-rules-arbitrary.ts';
import type { TestWorkspace } from './server.ts';
import { makeUsers } from './users.ts';

export const ROLES = ['r', 's', 'long name'] as const;

/** Entities with fields of all types of which a claim can be a value; some with row rules. */
export function drawGrantedEntities(g: GeneratorValue): Map<string, Drawn> {
  const drawn = drawEntities(g);
  drawRules(g, drawn);
  for (const entity of drawn.values()) {
    if (g(fc.integer, { min: 0, max: 2 }) > 0) entity.rules = [];
  }
  typeFields(drawn);
  return drawn;
}

/** Adds fields of all types of which a claim can be a value. */
export function typeFields(drawn: ReadonlyMap<string, Drawn>): void {
  for (const { fields, document } of drawn.values()) {
    fields.push(...Object.keys(VALUES));
    Object.assign(document.fields, { flag: { type: 'boolean' }, day: { type: 'date' }, at: { type: 'datetime' } });
  }
}

const CLAIMS = ['word', 'number', 'flag', 'day', 'at', 'list', 'words', 'deep.word', 'none'];

/**
 * Grants of each entity, or null for one without grants. `isLocal`: no condition crosses a relation, and none gives a
 * record a reference; `unread`: fields that no condition compares; `isTelling`: half of the entities have grants of
 * grants-telling.ts.
 */
export function drawGrants(
  g: GeneratorValue,
  schema: ReadonlyMap<string, Drawn>,
  {
    isLocal = false,
    unread = [],
    isTelling = false,
  }: { readonly isLocal?: boolean; readonly unread?: readonly string[]; readonly isTelling?: boolean } = {},
): Grants {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  const get = (name: string): Drawn => schema.get(name) as Drawn;

  const listRead = ({ fields, references }: Drawn): readonly string[] =>
    fields.filter(
      (field) => !unread.includes(field) && !(isLocal && references.some(({ column }) => column === field)),
    );
  function path(name: string, depth: number): string[] {
    const relations = Object.entries(get(name).relations);
    if (isLocal || depth === 0 || relations.length === 0 || chance(60)) return [pick(listRead(get(name)))];
    const [key, { to }] = pick(relations);
    return [key, ...path(to, depth - 1)];
  }
  function leaf(name: string): Where {
    const names = path(name, 3);
    const last = names.at(-1) as string;
    const field = names.join('.');
    const isTime = last === 'day' || last === 'at';
    const op = pick([
      ...['eq', 'eq', 'ne', 'in', 'in', 'nin', 'isNull', 'notNull'],
      ...(last === 'flag' ? [] : ['gt', 'gte', 'lt', 'lte', 'between']),
      ...(isTime ? ['gt', 'gte', 'lt', 'lte'] : []),
      ...(last === 'word' ? ['contains', 'startsWith', 'endsWith', 'ieq'] : []),
    ]);
    const literal = (): unknown => pick<unknown>(last === 'word' ? WORDS : (VALUES[last] ?? [1, 2, 3, 4]));
    const usual = { word: ['word', 'words'], flag: ['flag'], day: ['day'], at: ['at'] }[last] ?? ['number', 'list'];
    const claim = (): unknown => ({ claim: pick(chance(80) ? usual : CLAIMS) });
    const value = (): unknown => {
      if (isTime && !/eq|ne|in/.test(op) && chance(60)) return { now: true };
      if (chance(45)) return claim();
      return op === 'ieq' && chance(50) ? String(literal()).toUpperCase() : literal();
    };
    if (op === 'isNull' || op === 'notNull') return { field, op };
    if (op === 'between') return { field, op, value: [value(), value()] };
    if (op === 'in' || op === 'nin')
      return { field, op, value: chance(60) ? claim() : Array.from({ length: pick([1, 2, 2]) }, literal) };
    return { field, op, value: value() };
  }
  function where(name: string, depth: number): Where {
    const kind = depth === 0 ? 'leaf' : pick(['leaf', 'leaf', 'leaf', 'and', 'or', 'not']);
    const members = (): Where[] => Array.from({ length: pick([1, 2, 3]) }, () => where(name, depth - 1));
    if (kind === 'and') return { and: members() };
    if (kind === 'or') return { or: members() };
    return kind === 'not' ? { not: where(name, depth - 1) } : leaf(name);
  }
  function grant(name: string): GrantDocument {
    const fields = get(name).fields.filter((field) => field !== 'id');
    const some = (): string[] => g(fc.subarray, fields) as string[];
    const can = chance(65)
      ? ['read', 'create', 'update', 'delete']
      : (g(fc.subarray, ['read', 'create', 'update', 'delete'], { minLength: 1 }) as string[]);
    const writes = can.includes('create') || can.includes('update');
    const set = (): Record<string, unknown> => {
      const references = get(name).references.map(({ column }) => column);
      const column = pick(['word', 'number', 'flag', 'day', ...(isLocal ? [] : references)]);
      const claim = chance(25) ? pick(CLAIMS) : ({ word: 'word', flag: 'flag', day: 'day' }[column] ?? 'number');
      const literal = pick<unknown>([...(column === 'word' ? WORDS : (VALUES[column] ?? [1, 2, 3])), null]);
      const isRequired = get(name).references.some((one) => one.column === column && one.required);
      return { [column]: chance(50) || (isRequired && literal === null) ? { claim } : literal };
    };
    return {
      ...(chance(80)
        ? { role: chance(20) ? (g(fc.subarray, [...ROLES], { minLength: 1 }) as string[]) : pick(ROLES) }
        : {}),
      can,
      ...(chance(75) ? { where: where(name, 2) } : {}),
      ...(chance(35) ? { fields: [...some(), ...(chance(30) ? ['id'] : [])] } : {}),
      ...(writes && chance(35) ? { write: some() } : {}),
      ...(can.includes('create') && chance(30) ? { set: set() } : {}),
    };
  }
  return Object.fromEntries(
    [...NAMES, 'link'].map((name) => {
      if (chance(name === 'link' ? 30 : 12)) return [name, null];
      if (isTelling && chance(50)) return [name, drawTellingGrants(g, schema, name)];
      return [name, Array.from({ length: pick([1, 2, 2, 3, 3, 4]) }, () => grant(name))];
    }),
  );
}

/** A user, or a key that acts as a role. */
export function drawUser(g: GeneratorValue): User {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  const chance = (share: number): boolean => g(() => fc.noBias(fc.integer({ min: 1, max: 100 }))) <= share;
  const claims: Record<string, unknown> = { ...drawClaims(g) };
  const some = (name: string, values: readonly unknown[]): void => {
    if (chance(85)) claims[name] = pick(values);
  };
  some('flag', [true, false, 'true', 1]);
  some('day', [...(VALUES.day as string[]), 'x']);
  some('at', [...(VALUES.at as string[]), 'x']);
  some('list', [[1, 2], [2, '3'], [], [1, 'x'], 2, [3, null]]);
  some('words', [['x', 'y'], ['z'], [], 'y', ['x', 1], [['x']]]);
  some('deep', [{ word: 'x' }, { word: 'y' }, {}, 'x']);
  const onlyGrants = chance(20);
  const roles = chance(20) ? [] : (g(fc.subarray, [...ROLES], { minLength: 1 }) as string[]);
  return { onlyGrants, roles, claims };
}

export const withGrants = (schema: ReadonlyMap<string, Drawn>, grants: Grants): object => ({
  roles: ROLES,
  entities: Object.fromEntries(
    [...schema].map(([name, { document, rules }]) => [
      name,
      { ...document, rowRules: rules, grants: grants[name] ?? null },
    ]),
  ),
});

/** Signs in the user, or makes the key. */
export async function makeCredential(workspace: TestWorkspace, issuer: Issuer, user: User): Promise<string> {
  const { roles, claims, onlyGrants } = user;
  if (onlyGrants) {
    const body = { name: 'role', permissions: 'GRANTS', roles, claims };
    const made = await workspace.admin('api-keys', { method: 'POST', body });
    assert.equal(made.status, 201, made.text);
    return made.json.data.key;
  }
  const tokenOf = await makeUsers(workspace, issuer);
  const provider = { method: 'PUT', body: { roleClaim: 'realm.roles' } };
  assert.equal((await workspace.admin('identity-provider', provider)).status, 200);
  return tokenOf({ ...claims, realm: { roles: roles.length === 1 ? roles[0] : [...roles, 'other', 7] } });
}
