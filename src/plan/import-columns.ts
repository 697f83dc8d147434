// Names of a file -> fields of an entity: headers of CSV, members of NDJSON, and references that are looked up by a unique
// field of the related entity. Throws 400 for a map that does not fit.
import { badRequest, listNames, shorten, unknownName } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity, Field } from '../model/entity.ts';
import type { Relation } from '../model/relation.ts';
import { getUniqueFields } from './conflict-key.ts';
import { getTarget, type PlanContext } from './link.ts';
import { getRuleColumns } from './row-rules.ts';
import { type Scan, scan } from './scan.ts';

/** Reference whose id is found by a unique field of the related entity. */
export interface Lookup {
  /** Column of the entity that gets the id. */
  readonly column: Field;
  /** Unique field of the related entity that the file has in place of the id. */
  readonly field: Field;
  /** Related records that the principal can see. */
  readonly scan: Scan;
}

/** Field of the entity that a column of a file gives, directly or by a look-up. */
export interface Target {
  readonly field: Field;
  readonly lookup: Lookup | undefined;
}

/**
 * Returns what a name in `map` stands for: a field, or `relation.field` with a unique field of the related entity. Throws
 * 400 if there is no such thing, or if the field is not unique.
 */
export function resolveTarget(name: string, entity: Entity, context: PlanContext): Target {
  const field = entity.fields.get(name);
  if (field !== undefined) return { field, lookup: undefined };
  const at = name.indexOf('.');
  if (at < 0) throw unknownName('field', name, entity.name, closest(name, entity.fields.keys()), entity.fields.keys());
  const [relationName, fieldName] = [name.slice(0, at), name.slice(at + 1)];
  const relation = entity.relations.get(relationName);
  const { relations } = entity;
  if (relationName === '') {
    const message = `map looks up ${shorten(name)}, which names no relation before the dot. Known: ${listNames([...relations.keys()])}`;
    throw badRequest('INVALID_HEADER_MAP', message);
  }
  if (relation === undefined)
    throw unknownName('relation', relationName, entity.name, closest(relationName, relations.keys()), relations.keys());
  if (relation.kind !== 'belongsTo')
    throw badRequest('INVALID_HEADER_MAP', `map looks up ${shorten(name)}, but ${relation.name} is no reference`);
  const column = entity.fields.get(relation.column) as Field;
  if (getRuleColumns(entity, context.principal).has(column.name)) {
    const message = `map looks up ${shorten(name)}, but the row rules set ${column.name}: leave the column out by map=Header:`;
    throw badRequest('INVALID_HEADER_MAP', message);
  }
  const related = getTarget(relation, context);
  const uniques = getLookupFields(relation, context);
  const possible = ['id', ...uniques.map((unique) => unique.name)].join(', ');
  if (fieldName === '') {
    const message = `map looks up ${shorten(name)}, which names no field of ${related.name} after the dot. Possible: ${possible}`;
    throw badRequest('INVALID_HEADER_MAP', message);
  }
  const relatedField = related.fields.get(fieldName);
  if (relatedField === undefined) {
    const names = related.fields.keys();
    throw unknownName('field', fieldName, related.name, closest(fieldName, [...related.fields.keys()]), names);
  }
  if (relatedField.role === 'id') return { field: column, lookup: undefined };
  if (!uniques.includes(relatedField)) {
    const message = `map looks up ${shorten(name)}, but ${fieldName} is not unique in ${related.name}. Possible: ${possible}`;
    throw badRequest('INVALID_HEADER_MAP', message);
  }
  const lookup = { column, field: relatedField, scan: scan(related, context.principal, 'read') };
  return { field: column, lookup };
}

/** Returns the fields, each unique alone, by which a record that the relation leads to can be looked up; without the id. */
const getLookupFields = (relation: Relation, context: PlanContext): readonly Field[] =>
  getUniqueFields(getTarget(relation, context), context.workspace).flatMap((fields) =>
    fields.length === 1 ? fields : [],
  );

/**
 * Returns a function that says what a file may give in place of a relation that a header, or a member, names in whatever
 * case; undefined for a name of none.
 */
export function makeRelationFormatter(entity: Entity, context: PlanContext): (name: string) => string | undefined {
  const relations = new Map([...entity.relations.values()].map((relation) => [normalize(relation.name), relation]));
  // A file may have a million lines with the same mistake.
  const lookupNames = new Map<Relation, string | undefined>();
  const getLookupName = (relation: Relation): string | undefined => {
    if (!lookupNames.has(relation)) lookupNames.set(relation, getLookupFields(relation, context)[0]?.name);
    return lookupNames.get(relation);
  };
  const ruleColumns = getRuleColumns(entity, context.principal);
  return (name) => {
    const relation = entity.relations.get(name) ?? relations.get(normalize(name));
    if (relation === undefined) return undefined;
    const prefix = `is the relation ${relation.name}`;
    if (relation.kind !== 'belongsTo') return `${prefix}; import the records of ${relation.entity} instead`;
    const label = shorten(name);
    if (ruleColumns.has(relation.column)) return `${prefix}, which the row rules set: map=${label}: leaves it out`;
    const unique = getLookupName(relation);
    const lookup =
      unique === undefined ? '' : ` map=${label}:${relation.name}.${unique} looks the record up by its ${unique},`;
    return `${prefix}, whose id is the field ${relation.column}:${lookup} map=${label}:${relation.column} takes ids`;
  };
}

/** Returns a function that finds the field of a header by its name, without regard to case, spaces and `_`. */
export function makeHeaderMatcher(entity: Entity): (header: string) => Field | undefined {
  const matches = new Map<string, Field | undefined>();
  for (const field of entity.fields.values()) {
    const name = normalize(field.name);
    // Two fields of one name in this sense are no match.
    matches.set(name, matches.has(name) ? undefined : field);
  }
  return (header) => entity.fields.get(header) ?? matches.get(normalize(header));
}

const normalize = (name: string): string => name.replaceAll(/[\s_]/g, '').toLowerCase();

/** Columns that an import with rejects adds to its answer; a file with them is read without them. */
export const REJECT_COLUMNS: readonly string[] = ['_row', '_reason'];
