// What forms do to a schema document: values in, a new value out. A document in work may be mistaken anywhere, so nothing is
// taken for granted but that it is JSON.
import type { Json } from '../api/json.ts';
import { attributesNotOf, RELATION_MEMBERS, type RelationKind } from './field-types.ts';
import {
  at,
  isList,
  isObject,
  isSame,
  type JsonObject,
  listOf,
  membersOf,
  type Path,
  textOf,
  withAt,
  withRenamed,
} from './json-value.ts';

export const entityNames = (document: Json): readonly string[] =>
  membersOf(at(document, ['entities'])).map(([name]) => name);

export const entityPath = (entity: string): Path => ['entities', entity];

/** The field that stores a belongsTo relation. */
export const columnOf = (name: string, relation: Json): string => textOf(at(relation, ['column'])) || `${name}Id`;

/** Fields by name, with those that store relations: what indexes and row rules may name. */
export const columnsOf = (entity: Json | undefined): readonly string[] => [
  ...membersOf(at(entity, ['fields'])).map(([name]) => name),
  ...membersOf(at(entity, ['relations']))
    .filter(([, relation]) => at(relation, ['kind']) === 'belongsTo')
    .map(([name, relation]) => columnOf(name, relation)),
];

/** A name that is not taken yet: `field`, `field2`. */
export function freeName(wish: string, taken: readonly string[]): string {
  if (!taken.includes(wish)) return wish;
  for (let number = 2; ; number += 1) if (!taken.includes(`${wish}${number}`)) return `${wish}${number}`;
}

/** Changes the type of a field and takes off what the new one does not know. */
export function withType(document: Json, path: Path, type: string): Json {
  let next = withAt(document, [...path, 'type'], type);
  for (const attribute of attributesNotOf(type)) next = withAt(next, [...path, attribute], undefined);
  if (type !== 'string' && type !== 'text' && at(next, [...path, 'index']) === 'substring')
    next = withAt(next, [...path, 'index'], true);
  if (type === 'enum' && at(next, [...path, 'values']) === undefined)
    next = withAt(next, [...path, 'values'], ['first']);
  return at(next, [...path, 'default']) === undefined ? next : withAt(next, [...path, 'default'], undefined);
}

/** Changes the kind of a relation and takes off what the new one does not know. */
export function withKind(document: Json, path: Path, kind: RelationKind): Json {
  const known = ['entity', 'description', 'renamedFrom', ...RELATION_MEMBERS[kind]];
  const kept = membersOf(at(document, path)).filter(([name]) => known.includes(name));
  return withAt(document, path, { kind, ...Object.fromEntries(kept) });
}

/**
 * Renames an entity, a field or a relation (`path` ends with its name) with everything in the document that names it.
 * What is in force under the old name gets `renamedFrom`, so that its records stay.
 */
export function withName(document: Json, path: Path, name: string, inForce: Json): Json {
  const old = path.at(-1) as string;
  const parent = path.slice(0, -1);
  const followed =
    path.length === 2 ? entityFollowed(document, old, name) : memberFollowed(document, path as MemberPath, name);
  const renamed = withRenamed(followed, parent, old, name);
  const there = [...parent, name];
  const entity = path[1] as string;
  const former = path.length === 2 ? [] : [textOf(at(document, ['entities', entity, 'renamedFrom'])) || entity];
  const stored = path.length === 2 ? ['entities'] : ['entities', ...former, path[2] as string];
  const origin = textOf(at(document, [...path, 'renamedFrom'])) || old;
  if (origin === name || at(inForce, [...stored, origin]) === undefined)
    return withAt(renamed, [...there, 'renamedFrom'], undefined);
  return withAt(renamed, [...there, 'renamedFrom'], origin);
}

type MemberPath = readonly ['entities', string, string, string];

const mapped = (value: Json, change: (one: JsonObject, name: string) => Json): Json =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, isObject(one) ? change(one, name) : one]))
    : value;

/** Every relation of every entity through `change`. */
const withRelations = (document: Json, change: (relation: JsonObject, entity: string) => Json): Json =>
  withAt(
    document,
    ['entities'],
    mapped(at(document, ['entities']) ?? {}, (entity, name) =>
      isObject(entity.relations)
        ? { ...entity, relations: mapped(entity.relations, (relation) => change(relation, name)) }
        : entity,
    ),
  );

/** A member with another value, when it has the old one. */
const swapped = (object: JsonObject, members: readonly string[], old: string, name: string): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([key, one]) => [key, members.includes(key) && one === old ? name : one]),
  );

const entityFollowed = (document: Json, old: string, name: string): Json =>
  withRelations(document, (relation) => swapped(relation, ['entity', 'through'], old, name));

function memberFollowed(document: Json, [, entity, part, old]: MemberPath, name: string): Json {
  const own: Path = ['entities', entity];
  const before = at(document, [...own, part, old]);
  if (part === 'fields') return columnFollowed(document, own, old, name);
  const followed = withRelations(document, (relation, owner) => {
    const isInverse = relation.entity === entity && (relation.kind === 'hasMany' || relation.kind === 'hasOne');
    const one = isInverse ? swapped(relation, ['inverse'], old, name) : relation;
    return relation.through === entity && owner !== '' ? swapped(one, ['from', 'to'], old, name) : one;
  });
  const isStored = at(before, ['kind']) === 'belongsTo' && at(before, ['column']) === undefined;
  const expanded = settingsFollowed(followed, own, old, name);
  return isStored ? columnFollowed(expanded, own, `${old}Id`, `${name}Id`) : expanded;
}

/** Indexes, row rules and default fields of the entity name columns. */
function columnFollowed(document: Json, own: Path, old: string, name: string): Json {
  let next = document;
  const swap = (list: readonly string[]): readonly string[] => list.map((one) => (one === old ? name : one));
  const indexes = at(document, [...own, 'indexes']);
  if (isList(indexes))
    for (const index of indexes.keys()) {
      const path = [...own, 'indexes', String(index), 'fields'];
      if (isList(at(next, path))) next = withAt(next, path, swap(listOf(at(next, path))));
    }
  const rules = at(document, [...own, 'rowRules']);
  if (isList(rules))
    next = withAt(
      next,
      [...own, 'rowRules'],
      rules.map((rule) => (isObject(rule) ? swapped(rule, ['column'], old, name) : rule)),
    );
  return settingsFollowed(next, own, old, name);
}

function settingsFollowed(document: Json, own: Path, old: string, name: string): Json {
  const label: Path = [...own, 'settings', 'label'];
  let next = at(document, label) === old ? withAt(document, label, name) : document;
  for (const setting of ['defaultExpand', 'expandable', 'defaultFields']) {
    const path = [...own, 'settings', setting];
    const list = at(next, path);
    if (!isList(list)) continue;
    const changed = list.map((one) =>
      typeof one === 'string' ? one.replace(/^[^.]*/, (first) => (first === old ? name : first)) : one,
    );
    if (!isSame(changed, list)) next = withAt(next, path, changed);
  }
  return next;
}
