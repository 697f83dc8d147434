// Checks the relations and indexes of a schema document: each leads to an entity, and back from there.
import { listNames, shorten } from '../errors.ts';
import { fieldType } from '../model/field-types.ts';
import { checkColumnName } from './fields.ts';
import type { RelationDocument } from './format.ts';
import { hint, type Path, type Report } from './report.ts';
import { type DocumentView, type EntityView, getColumn, type Loose } from './view.ts';

// PostgreSQL keeps 63 bytes of a name; ours are ASCII.
const MAX_NAME = 63;

const MEMBERS = {
  belongsTo: { takes: ['column', 'required', 'unique', 'onDelete'], needs: [] },
  hasMany: { takes: ['inverse'], needs: ['inverse'] },
  hasOne: { takes: ['inverse'], needs: ['inverse'] },
  manyToMany: { takes: ['through', 'from', 'to'], needs: ['through', 'from', 'to'] },
} as const;
const OWN_MEMBERS = ['column', 'required', 'unique', 'onDelete', 'inverse', 'through', 'from', 'to'] as const;

export function checkRelations(entity: EntityView, document: DocumentView, report: Report): void {
  // Names of all members of a record of this entity.
  const usedNames = new Map<string, string>([...entity.fields.keys()].map((name) => [name, `field ${name}`]));
  for (const [name, relation] of entity.relations) {
    const path = [...entity.path, 'relations', name];
    if (name === 'id') report(path, 'INVALID', 'id is reserved: every entity has it');
    claim(path, name, `relation ${name}`, usedNames, report);
    if (entity.document.timestamps === true && (name === 'createdAt' || name === 'updatedAt')) {
      report(path, 'INVALID', `${name} is the name of a field that timestamps adds`);
    }
    if (relation.kind === undefined) continue;
    checkMembers(path, { ...relation, kind: relation.kind }, report);
    if (relation.entity !== undefined && !document.has(relation.entity)) {
      report([...path, 'entity'], 'REFERENCE_NOT_FOUND', missing('entity', relation.entity, document.keys(), report));
    }
    if (relation.kind === 'belongsTo') checkKey(path, name, relation, entity, report);
    else if (relation.kind === 'manyToMany') checkThrough(path, relation, entity, document, report);
    else checkInverse(path, relation, entity, document, report);
  }
  for (const [name, relation] of entity.relations) {
    if (relation.kind !== 'belongsTo') continue;
    const path = [...entity.path, 'relations', name];
    const column = getColumn(name, relation);
    const location = relation.column === undefined ? path : [...path, 'column'];
    claim(location, column, `the field of relation ${name}`, usedNames, report);
  }
}

function claim(path: Path, name: string, what: string, usedNames: Map<string, string>, report: Report): void {
  const owner = usedNames.get(name);
  if (owner === undefined) usedNames.set(name, what);
  else report(path, 'INVALID', `${what} would be named ${name}, which is ${owner} already`);
}

function checkMembers(
  path: Path,
  relation: Loose<RelationDocument> & Pick<RelationDocument, 'kind'>,
  report: Report,
): void {
  const { takes, needs } = MEMBERS[relation.kind] as { takes: readonly string[]; needs: readonly string[] };
  for (const member of OWN_MEMBERS) {
    if (relation[member] === undefined || takes.includes(member)) continue;
    report(
      [...path, member],
      'INVALID',
      `means nothing for ${relation.kind}, which takes ${['entity', ...takes].join(', ')}`,
    );
  }
  for (const member of needs as readonly ('inverse' | 'through' | 'from' | 'to')[]) {
    if (relation[member] === undefined) report([...path, member], 'REQUIRED', `is required for ${relation.kind}`);
  }
}

function checkKey(
  path: Path,
  name: string,
  relation: Loose<RelationDocument>,
  entity: EntityView,
  report: Report,
): void {
  const column = getColumn(name, relation);
  if (column.length > MAX_NAME) {
    report(path, 'TOO_LONG', `its field ${column} would have more than ${MAX_NAME} characters: name it with column`);
  }
  checkColumnName(relation.column === undefined ? path : [...path, 'column'], column, entity, report);
  if (relation.onDelete === 'setNull' && relation.required === true) {
    report([...path, 'onDelete'], 'INVALID', 'setNull contradicts required');
  }
}

function checkInverse(
  path: Path,
  relation: Loose<RelationDocument>,
  entity: EntityView,
  document: DocumentView,
  report: Report,
): void {
  const target = relation.entity === undefined ? undefined : document.get(relation.entity);
  if (target === undefined || relation.inverse === undefined) return;
  const location = [...path, 'inverse'];
  const reverse = { name: relation.inverse, owner: target, target: entity };
  const inverse = checkBack(location, reverse, document, report);
  if (inverse !== undefined && relation.kind === 'hasOne' && inverse.unique !== true) {
    report(location, 'INVALID', `hasOne needs unique: true on relation ${relation.inverse} of ${target.name}`);
  }
}

function checkThrough(
  path: Path,
  relation: Loose<RelationDocument>,
  entity: EntityView,
  document: DocumentView,
  report: Report,
): void {
  if (relation.through === undefined) return;
  const through = document.get(relation.through);
  if (through === undefined) {
    const message = missing('entity', relation.through, document.keys(), report);
    report([...path, 'through'], 'REFERENCE_NOT_FOUND', message);
    return;
  }
  if (relation.from !== undefined) {
    checkBack([...path, 'from'], { name: relation.from, owner: through, target: entity }, document, report);
  }
  if (relation.to === undefined) return;
  if (relation.to === relation.from) {
    report([...path, 'to'], 'INVALID', 'must be another relation than from');
    return;
  }
  const target = relation.entity === undefined ? undefined : document.get(relation.entity);
  if (target === undefined) return;
  checkBack([...path, 'to'], { name: relation.to, owner: through, target }, document, report);
}

/** The relation `name` of `owner`, which must lead to `target`. */
interface InverseRelation {
  readonly name: string;
  readonly owner: EntityView;
  readonly target: EntityView;
}

/** Returns the relation; reports it when it is not a belongsTo. */
function checkBack(
  location: Path,
  { name, owner, target }: InverseRelation,
  document: DocumentView,
  report: Report,
): Loose<RelationDocument> | undefined {
  const back = owner.relations.get(name);
  if (back === undefined) {
    if (!owner.opaque) {
      const keys = [...owner.relations].filter(([, relation]) => relation.kind === 'belongsTo').map(([key]) => key);
      report(location, 'REFERENCE_NOT_FOUND', missing('relation', name, keys, report, owner.name));
    }
    return undefined;
  }
  if (back.kind === undefined) return undefined;
  if (back.kind !== 'belongsTo') {
    report(location, 'INVALID', `relation ${name} of ${owner.name} is ${back.kind}: a belongsTo is needed`);
    return undefined;
  }
  if (back.entity === undefined || !document.has(back.entity)) return undefined;
  if (back.entity !== target.name) {
    report(location, 'INVALID', `relation ${name} of ${owner.name} leads to ${back.entity}, not to ${target.name}`);
    return undefined;
  }
  return back;
}

export function checkIndexes(entity: EntityView, report: Report): void {
  const firstIndexes = new Map<string, number>();
  entity.document.indexes?.forEach((index, position) => {
    // The shape check removed the index, or its `fields`.
    if (index?.fields === undefined) return;
    const path = [...entity.path, 'indexes', position];
    const fields = index.fields as readonly (string | undefined)[];
    fields.forEach((name, at) => {
      if (name === undefined) return;
      const location = [...path, 'fields', at];
      if (fields.indexOf(name) < at) report(location, 'INVALID', `${name} is in this index already`);
      else checkColumn(location, name, entity, report, 'an index');
    });
    const key = `${index.unique === true}:${fields.join(',')}`;
    const first = firstIndexes.get(key);
    if (first === undefined) firstIndexes.set(key, position);
    else report(path, 'INVALID', `is the same index as indexes.${first}`);
  });
}

/** Reports a `name` that is no column or cannot be compared; for a relation it names the column. */
export function checkColumn(
  location: Path,
  name: string,
  entity: EntityView,
  report: Report,
  purpose: string,
): boolean {
  const type = entity.columns.get(name);
  const isComparable = type === undefined || fieldType(type).comparable;
  if (!isComparable) report(location, 'INVALID', `${name} has type ${type}, which ${purpose} cannot use`);
  if (entity.columns.has(name) || entity.opaque) return isComparable;
  const relation = entity.relations.get(name);
  if (relation?.kind === 'belongsTo') {
    report(location, 'REFERENCE_NOT_FOUND', `${name} is a relation; its field is ${getColumn(name, relation)}`);
  } else {
    report(location, 'REFERENCE_NOT_FOUND', missing('field', name, entity.columns.keys(), report, entity.name));
  }
  return false;
}

/** Formats the message for a missing name. `entity`: its entity, or undefined for the document. */
export function missing(role: string, name: string, names: Iterable<string>, report: Report, entity?: string): string {
  const all = [...names];
  return `there is no ${role} ${shorten(name)}${entity === undefined ? '' : ` on entity ${entity}`}.${hint(report.suggest(name, all))} Known: ${listNames(all)}`;
}
