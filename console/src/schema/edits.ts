// Edits of a schema document by forms; each returns a new value. A draft may be invalid anywhere, so the code assumes
// only JSON.
import { renameInLabel } from '../../../src/model/label.ts';
import type { Json } from '../api/json.ts';
import { listOtherAttributes, RELATION_MEMBERS, type RelationKind } from './field-types.ts';
import {
  asText,
  asTexts,
  getAt,
  isList,
  isObject,
  isSame,
  type JsonObject,
  listMembers,
  type Path,
  renameAt,
  setAt,
} from './json-value.ts';

export const listEntityNames = (document: Json): readonly string[] =>
  listMembers(getAt(document, ['entities'])).map(([name]) => name);

export const entityPath = (entity: string): Path => ['entities', entity];

/** Returns the column that stores a belongsTo relation. */
export const getKeyColumn = (name: string, relation: Json): string =>
  asText(getAt(relation, ['column'])) || `${name}Id`;

/** Lists the fields and relation columns that indexes and row rules may name. */
export const listColumns = (entity: Json | undefined): readonly string[] => [
  ...listMembers(getAt(entity, ['fields'])).map(([name]) => name),
  ...listMembers(getAt(entity, ['relations']))
    .filter(([, relation]) => getAt(relation, ['kind']) === 'belongsTo')
    .map(([name, relation]) => getKeyColumn(name, relation)),
];

/** Returns an unused name: `field`, `field2`. */
export function findFreeName(name: string, usedNames: readonly string[]): string {
  if (!usedNames.includes(name)) return name;
  for (let number = 2; ; number += 1) if (!usedNames.includes(`${name}${number}`)) return `${name}${number}`;
}

/** Changes the type of a field and removes attributes of other types. */
export function changeFieldType(document: Json, path: Path, type: string): Json {
  let next = setAt(document, [...path, 'type'], type);
  for (const attribute of listOtherAttributes(type)) next = setAt(next, [...path, attribute], undefined);
  if (type !== 'string' && type !== 'text' && getAt(next, [...path, 'index']) === 'substring')
    next = setAt(next, [...path, 'index'], true);
  if (type === 'enum' && getAt(next, [...path, 'values']) === undefined)
    next = setAt(next, [...path, 'values'], ['first']);
  return getAt(next, [...path, 'default']) === undefined ? next : setAt(next, [...path, 'default'], undefined);
}

/** Changes the kind of a relation and removes members of other kinds. */
export function changeRelationKind(document: Json, path: Path, kind: RelationKind): Json {
  const allowedNames = ['entity', 'description', 'renamedFrom', ...RELATION_MEMBERS[kind]];
  const members = listMembers(getAt(document, path)).filter(([name]) => allowedNames.includes(name));
  return setAt(document, path, { kind, ...Object.fromEntries(members) });
}

/**
 * Renames an entity, a field or a relation (`path` ends with its name) and all references to it in the document. A
 * member that is in force under the old name gets `renamedFrom`, so that its records stay.
 */
export function renameMember(document: Json, path: Path, name: string, inForce: Json): Json {
  const old = path.at(-1) as string;
  const parent = path.slice(0, -1);
  const followed =
    path.length === 2
      ? renameEntityReferences(document, old, name)
      : renameMemberReferences(document, path as MemberPath, name);
  const renamed = renameAt(followed, parent, old, name);
  const there = [...parent, name];
  const entity = path[1] as string;
  const former = path.length === 2 ? [] : [asText(getAt(document, ['entities', entity, 'renamedFrom'])) || entity];
  const stored = path.length === 2 ? ['entities'] : ['entities', ...former, path[2] as string];
  const origin = asText(getAt(document, [...path, 'renamedFrom'])) || old;
  if (origin === name || getAt(inForce, [...stored, origin]) === undefined)
    return setAt(renamed, [...there, 'renamedFrom'], undefined);
  return setAt(renamed, [...there, 'renamedFrom'], origin);
}

type MemberPath = readonly ['entities', string, string, string];

const mapMembers = (value: Json, change: (one: JsonObject, name: string) => Json): Json =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, isObject(one) ? change(one, name) : one]))
    : value;

/** Maps every relation of every entity. */
const mapRelations = (document: Json, change: (relation: JsonObject, entity: string) => Json): Json =>
  setAt(
    document,
    ['entities'],
    mapMembers(getAt(document, ['entities']) ?? {}, (entity, name) =>
      isObject(entity.relations)
        ? { ...entity, relations: mapMembers(entity.relations, (relation) => change(relation, name)) }
        : entity,
    ),
  );

/** Replaces the values of members that equal the old one. */
const replaceMember = (object: JsonObject, members: readonly string[], old: string, name: string): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([key, one]) => [key, members.includes(key) && one === old ? name : one]),
  );

const renameEntityReferences = (document: Json, old: string, name: string): Json =>
  mapRelations(document, (relation) => replaceMember(relation, ['entity', 'through'], old, name));

function renameMemberReferences(document: Json, [, entity, part, old]: MemberPath, name: string): Json {
  const own: Path = ['entities', entity];
  const before = getAt(document, [...own, part, old]);
  if (part === 'fields') return renameColumnReferences(document, own, old, name);
  const followed = mapRelations(document, (relation, owner) => {
    const isInverse = relation.entity === entity && (relation.kind === 'hasMany' || relation.kind === 'hasOne');
    const one = isInverse ? replaceMember(relation, ['inverse'], old, name) : relation;
    return relation.through === entity && owner !== '' ? replaceMember(one, ['from', 'to'], old, name) : one;
  });
  const isStored = getAt(before, ['kind']) === 'belongsTo' && getAt(before, ['column']) === undefined;
  const expanded = renameInSettings(followed, own, old, name);
  return isStored ? renameColumnReferences(expanded, own, `${old}Id`, `${name}Id`) : expanded;
}

/** Renames a column in the indexes, row rules and default fields of its entity. */
function renameColumnReferences(document: Json, own: Path, old: string, name: string): Json {
  let next = document;
  const swap = (list: readonly string[]): readonly string[] => list.map((one) => (one === old ? name : one));
  const indexes = getAt(document, [...own, 'indexes']);
  if (isList(indexes))
    for (const index of indexes.keys()) {
      const path = [...own, 'indexes', String(index), 'fields'];
      if (isList(getAt(next, path))) next = setAt(next, path, swap(asTexts(getAt(next, path))));
    }
  const rules = getAt(document, [...own, 'rowRules']);
  if (isList(rules))
    next = setAt(
      next,
      [...own, 'rowRules'],
      rules.map((rule) => (isObject(rule) ? replaceMember(rule, ['column'], old, name) : rule)),
    );
  return renameInSettings(next, own, old, name);
}

function renameInSettings(document: Json, own: Path, old: string, name: string): Json {
  const label: Path = [...own, 'settings', 'label'];
  const text = getAt(document, label);
  const renamed = typeof text === 'string' ? renameInLabel(text, (one) => (one === old ? name : one)) : text;
  let next = renamed === text || renamed === undefined ? document : setAt(document, label, renamed);
  for (const setting of ['defaultExpand', 'expandable', 'defaultFields', 'changesOmit']) {
    const path = [...own, 'settings', setting];
    const list = getAt(next, path);
    if (!isList(list)) continue;
    const replaced = list.map((one) =>
      typeof one === 'string' ? one.replace(/^[^.]*/, (first) => (first === old ? name : first)) : one,
    );
    if (!isSame(replaced, list)) next = setAt(next, path, replaced);
  }
  return next;
}
