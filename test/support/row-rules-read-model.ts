// What an external user must be shown, said a second time in the simplest way: records in arrays, rules as comparisons.
// The property of row rules holds the server against it.

export type Value = string | number | boolean | null;
export type Rec = Readonly<Record<string, Value>> & { readonly id: number };
export type Claims = Readonly<Record<string, unknown>>;
export type Condition =
  | { readonly and: readonly Condition[] }
  | { readonly or: readonly Condition[] }
  | { readonly not: Condition }
  | { readonly path: readonly string[]; readonly op: string; readonly value: Value | readonly Value[] };
/** Relations to expand, each with those below it. */
export interface Expansion {
  readonly [relation: string]: Expansion;
}
export type SortKey = readonly [path: readonly string[], direction: 'asc' | 'desc'];

export interface ModelRelation {
  readonly to: string;
  readonly isToOne: boolean;
  /** Own column, the other's column, or the through-entity with its two columns. */
  readonly by:
    | { readonly own: string }
    | { readonly theirs: string }
    | { readonly through: string; readonly from: string; readonly other: string };
}
export interface ModelEntity {
  readonly fields: readonly string[];
  readonly relations: Readonly<Record<string, ModelRelation>>;
  readonly rules: readonly { readonly column: string; readonly claim: string; readonly enabled: boolean }[];
  readonly records: readonly Rec[];
}
export type Model = Readonly<Record<string, ModelEntity>>;

/** What is there for a key that reaches these entities alone, and sees all of their records. */
export function modelWithin(model: Model, names: readonly string[]): Model {
  const isReached = ({ to, by }: ModelRelation): boolean =>
    names.includes(to) && (!('through' in by) || names.includes(by.through));
  return Object.fromEntries(
    Object.entries(model)
      .filter(([name]) => names.includes(name))
      .map(([name, entity]) => {
        const relations = Object.entries(entity.relations).filter(([, relation]) => isReached(relation));
        return [name, { ...entity, rules: [], relations: Object.fromEntries(relations) }];
      }),
  );
}

export function makeRowModel(model: Model, claims: Claims) {
  const entity = (name: string): ModelEntity => model[name] as ModelEntity;
  const isScalar = (value: unknown): boolean => value !== null && value !== undefined && typeof value !== 'object';
  const visible = (name: string): readonly Rec[] =>
    entity(name).records.filter((record) =>
      entity(name).rules.every(({ column, claim, enabled }) => {
        return (
          !enabled ||
          (isScalar(claims[claim]) && record[column] !== null && String(record[column]) === String(claims[claim]))
        );
      }),
    );

  function related(record: Rec, relation: ModelRelation): readonly Rec[] {
    const { to, by } = relation;
    if ('own' in by) return visible(to).filter(({ id }) => id === record[by.own]);
    if ('theirs' in by) return visible(to).filter((other) => other[by.theirs] === record.id);
    const ids = visible(by.through)
      .filter((through) => through[by.from] === record.id)
      .map((through) => through[by.other]);
    return visible(to).filter(({ id }) => ids.includes(id));
  }

  const relationOf = (name: string, relation: string): ModelRelation =>
    entity(name).relations[relation] as ModelRelation;

  /** The value at the end of a path of to-one relations; null when something on the way is missing or hidden. */
  function valueAt(name: string, record: Rec, [head = '', ...rest]: readonly string[]): Value {
    if (rest.length === 0) return record[head] ?? null;
    const relation = relationOf(name, head);
    const [next] = related(record, relation);
    return next === undefined ? null : valueAt(relation.to, next, rest);
  }

  function isAllToOne(name: string, path: readonly string[]): boolean {
    if (path.length === 1) return true;
    const relation = relationOf(name, path[0] as string);
    return relation.isToOne && isAllToOne(relation.to, path.slice(1));
  }

  function holds(name: string, record: Rec, condition: Condition): boolean {
    if ('and' in condition) return condition.and.every((member) => holds(name, record, member));
    if ('or' in condition) return condition.or.some((member) => holds(name, record, member));
    if ('not' in condition) return !holds(name, record, condition.not);
    const { path, op, value } = condition;
    if (isAllToOne(name, path)) return compare(valueAt(name, record, path), op, value);
    const relation = relationOf(name, path[0] as string);
    return related(record, relation).some((other) => holds(relation.to, other, { ...condition, path: path.slice(1) }));
  }

  function show(name: string, record: Rec, expand: Expansion): Record<string, unknown> {
    const shown: Record<string, unknown> = Object.fromEntries(
      entity(name).fields.map((field) => [field, record[field] ?? null]),
    );
    for (const [key, below] of Object.entries(expand)) {
      const relation = relationOf(name, key);
      const others = related(record, relation).map((other) => show(relation.to, other, below));
      shown[key] = relation.isToOne ? (others[0] ?? null) : others;
    }
    return shown;
  }

  function list(name: string, condition: Condition, sort: readonly SortKey[]): readonly Rec[] {
    const keys: readonly SortKey[] = [...sort, [['id'], sort.at(-1)?.[1] ?? 'asc']];
    return visible(name)
      .filter((record) => holds(name, record, condition))
      .sort((a, b) => {
        for (const [path, direction] of keys) {
          const order = compareValues(valueAt(name, a, path), valueAt(name, b, path));
          if (order !== 0) return direction === 'asc' ? order : -order;
        }
        return 0;
      });
  }

  /** How many records of each combination of values at the ends of to-one paths, and the least and greatest of one field. */
  function aggregate(name: string, condition: Condition, { groups, of }: Grouping): readonly GroupCount[] {
    const found = new Map<string, { readonly key: readonly Value[]; readonly values: Value[] }>();
    if (groups.length === 0) found.set('[]', { key: [], values: [] });
    for (const record of list(name, condition, [])) {
      const key = groups.map((path) => valueAt(name, record, path));
      const text = JSON.stringify(key);
      const group = found.get(text) ?? { key, values: [] };
      group.values.push(valueAt(name, record, of));
      found.set(text, group);
    }
    return [...found.values()]
      .map(({ key, values }) => {
        const present = values.filter((value) => value !== null).toSorted(compareValues);
        const distinct = new Set(present).size;
        return { key, count: values.length, present: present.length, distinct, least: present[0] ?? null };
      })
      .sort((a, b) => {
        const orders = a.key.map((value, index) => compareValues(value, b.key[index] ?? null));
        return orders.find((order) => order !== 0) ?? 0;
      });
  }

  return { visible, list, show, aggregate };
}

/** Paths of to-one relations: those that make the groups, and the field that is summed up. */
export interface Grouping {
  readonly groups: readonly (readonly string[])[];
  readonly of: readonly string[];
}
interface GroupCount {
  readonly key: readonly Value[];
  readonly count: number;
  /** Records with a value, different values, and the least of them. */
  readonly present: number;
  readonly distinct: number;
  readonly least: Value;
}

/** null is the greatest, as PostgreSQL orders it. */
function compareValues(a: Value, b: Value): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -1 : 1;
}

/** Returns whether a condition holds: with null, no comparison does but `ne` and `nin`. */
export function compare(value: Value, op: string, wanted: Value | readonly Value[]): boolean {
  const among = Array.isArray(wanted) && wanted.includes(value);
  switch (op) {
    case 'eq':
      return value !== null && value === wanted;
    case 'ne':
      return value !== wanted;
    case 'gt':
      return value !== null && value > (wanted as string | number);
    case 'in':
      return value !== null && among;
    case 'nin':
      return value === null || !among;
    case 'isNull':
      return value === null;
    case 'notNull':
      return value !== null;
    default:
      throw new TypeError(op);
  }
}
