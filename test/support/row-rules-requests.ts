// Requests of users of a drawn workspace: what they want, drawn at random, and as members of a body.
import fc, { type GeneratorValue } from 'fast-check';
import { VALUES, WORDS } from './row-rules-arbitrary.ts';
import type {
  Condition,
  Expansion,
  Grouping,
  Model,
  ModelEntity,
  ModelRelation,
  SortKey,
  Value,
} from './row-rules-read-model.ts';

/** What a user asks for. */
export interface Wish {
  /** A text of a record is one word, so a search for it is the condition that it is that word. */
  readonly search: string | undefined;
  readonly entity: string;
  readonly expand: Expansion;
  readonly fields: readonly string[] | undefined;
  readonly condition: Condition;
  readonly sort: readonly SortKey[];
  readonly size: number;
  readonly grouping: Grouping;
}

export function drawWish(g: GeneratorValue, model: Model): Wish {
  const pick = <T>(values: readonly T[]): T => g(fc.constantFrom, ...values) as T;
  const get = (name: string): ModelEntity => model[name] as ModelEntity;
  const entity = pick(Object.keys(model));

  function expansion(name: string, depth: number): Expansion {
    const names = Object.keys(get(name).relations);
    if (depth === 0 || names.length === 0) return {};
    const chosen = g(fc.subarray, names, { maxLength: Math.min(2, names.length) }) as string[];
    return Object.fromEntries(
      chosen.map((key) => [key, expansion((get(name).relations[key] as ModelRelation).to, depth - 1)]),
    );
  }
  function path(name: string, depth: number, toOneOnly: boolean): string[] {
    const relations = Object.entries(get(name).relations).filter(([, { isToOne }]) => isToOne || !toOneOnly);
    if (depth === 0 || relations.length === 0 || g(fc.boolean)) return [pick(get(name).fields)];
    const [key, { to }] = pick(relations);
    return [key, ...path(to, depth - 1, toOneOnly)];
  }
  function condition(depth: number): Condition {
    const kind = depth === 0 ? 'compare' : pick(['compare', 'compare', 'and', 'or', 'not']);
    if (kind === 'and') return { and: [condition(depth - 1), condition(depth - 1)] };
    if (kind === 'or') return { or: [condition(depth - 1), condition(depth - 1)] };
    if (kind === 'not') return { not: condition(depth - 1) };
    const names = path(entity, 3, false);
    const last = names.at(-1) as string;
    const drawn = pick(['eq', 'ne', 'gt', 'in', 'nin', 'isNull', 'notNull']);
    const op = drawn === 'gt' && last === 'flag' ? 'eq' : drawn;
    const value = (): Value => pick<Value>(last === 'word' ? WORDS : (VALUES[last] ?? [1, 2, 3, 4]));
    return {
      path: names,
      op,
      value: op === 'in' || op === 'nin' ? [value(), value()] : /ull/.test(op) ? null : value(),
    };
  }
  const expand = expansion(entity, 3);
  const sort = new Map(
    Array.from(
      { length: g(fc.integer, { min: 0, max: 2 }) },
      (): SortKey => [path(entity, 2, true), pick(['asc', 'desc'])],
    )
      .filter(([names]) => names.join() !== 'id')
      .map((key) => [key[0].join('.'), key]),
  );
  const groups = new Map(
    Array.from({ length: g(fc.integer, { min: 0, max: 3 }) }, () => path(entity, 2, true)).map((names) => [
      names.join('.'),
      names,
    ]),
  );
  const all = [...get(entity).fields, ...Object.keys(expand)];
  const summary = path(entity, 3, true);
  return {
    entity,
    expand,
    fields: g(fc.boolean) ? undefined : (g(fc.subarray, all, { minLength: 1 }) as string[]),
    condition: g(fc.boolean) ? { and: [] } : condition(2),
    sort: [...sort.values()],
    size: g(fc.integer, { min: 1, max: 8 }),
    search: g(fc.boolean) ? undefined : pick(WORDS),
    grouping: { groups: [...groups.values()], of: summary.at(-1) === 'flag' ? ['id'] : summary },
  };
}

export const pathsOf = (expand: Expansion): string[] =>
  Object.entries(expand).flatMap(([key, below]) => [key, ...pathsOf(below).map((path) => `${key}.${path}`)]);

/** As the tree that `_query` takes. */
export function treeOf(condition: Condition): unknown {
  if ('and' in condition) return { and: condition.and.map(treeOf) };
  if ('or' in condition) return { or: condition.or.map(treeOf) };
  if ('not' in condition) return { not: treeOf(condition.not) };
  const { path, op, value } = condition;
  return { field: path.join('.'), op, ...(value === null ? {} : { value }) };
}

/** As query parameters; undefined for a condition that only a tree can say. */
function parametersOf(condition: Condition): string[] | undefined {
  const single = (one: Condition): string | undefined => {
    if (!('path' in one)) return undefined;
    const value = one.value === null ? '' : `,${[one.value].flat().join()}`;
    return `${one.path.join('.')},${one.op}${value}`;
  };
  const members = 'and' in condition ? condition.and : [condition];
  const parameters = members.map((member) => {
    if (!('or' in member)) return single(member) === undefined ? undefined : `filter=${single(member)}`;
    const alternatives = member.or.map(single);
    return alternatives.includes(undefined) ? undefined : `or=${alternatives.join(';')}`;
  });
  return parameters.includes(undefined) ? undefined : (parameters as string[]);
}

/** The same as members of a body, and as query parameters. */
export const choiceOf = ({ condition, search }: Wish) => ({
  filter: treeOf(condition),
  ...(search === undefined ? {} : { search }),
});
export const choiceParametersOf = ({ condition, search }: Wish): string[] | undefined =>
  parametersOf(condition)?.concat(search === undefined ? [] : `search=${search}`);
