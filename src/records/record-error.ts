// PostgreSQL's errors of statements on records -> refusals that name the field, the relation or the migration they are about.
import {
  type DatabaseError,
  isAnswerLost,
  isDatabaseError,
  statementError,
  TOO_LARGE,
  violatedConstraint,
} from '../db/errors.ts';
import {
  type ApiError,
  type Detail,
  migrationInProgress,
  notUnique,
  stillReferenced,
  validationFailed,
} from '../errors.ts';
import { fieldOfColumn, ownerOf, type Violated } from '../model/constraint-owner.ts';
import type { Entity } from '../model/entity.ts';
import type { Workspace } from '../model/workspace.ts';
import { idsUsedUp, recordTooLarge, writeUnknown } from './errors.ts';

export type WriteKind = 'create' | 'update' | 'delete';

/**
 * Any error of running a statement for a record of `entity` -> ApiError. `write`: what the statement does; undefined when
 * it reads.
 */
export function recordError(
  error: unknown,
  workspace: Pick<Workspace, 'constraints' | 'entities'>,
  entity: string,
  write?: WriteKind,
): ApiError {
  if (write !== undefined && isAnswerLost(error)) return writeUnknown(error);
  if (!isDatabaseError(error)) return statementError(error);
  switch (error.code) {
    case '23505':
    case '23503':
    case '23001':
    case '23514':
      return violation(error, ownerOf(violatedConstraint(error), workspace), write);
    case '23502':
      return refusedValue(fieldOfColumn(error.column, workspace.entities.get(entity)), 'REQUIRED', 'is required');
    case TOO_LARGE:
      return write === undefined ? statementError(error) : recordTooLarge(error);
    case '54000':
      // A text of a gigabyte that PostgreSQL could not go on building, or an entry of an index.
      if (write === undefined) return statementError(error);
      if (error.routine === 'enlargeStringInfo') return recordTooLarge(error);
      return validationFailed([{ field: null, code: 'TOO_LONG', message: 'a value is too long for the index on it' }]);
    case '2200H':
      return idsUsedUp(entity, error);
    case '55P03': {
      const held = gated(workspace.entities, entity);
      return held?.gate == null ? statementError(error) : migrationInProgress(held.name, held.gate);
    }
    default:
      return statementError(error);
  }
}

function violation(error: DatabaseError, owner: Violated | undefined, write: WriteKind | undefined): ApiError {
  const isReferred = error.code === '23001' || (error.code === '23503' && write === 'delete');
  if (isReferred) {
    const records = owner && { entity: owner.entity, relation: owner.relation ?? namesOf(owner) };
    return stillReferenced(records, error);
  }
  if (owner === undefined) return statementError(error);
  if (error.code === '23505') return notUnique(namesOf(owner), error);
  if (error.code === '23503') {
    return refusedValue(namesOf(owner), 'REFERENCE_NOT_FOUND', 'refers to a record that does not exist');
  }
  return owner.isNull
    ? refusedValue(namesOf(owner), 'REQUIRED', 'is required')
    : refusedValue(namesOf(owner), 'OUT_OF_RANGE', 'is outside what the schema allows');
}

const namesOf = ({ fields }: Violated): string => fields.join(', ');

const refusedValue = (field: string | null, code: Detail['code'], message: string): ApiError =>
  validationFailed([{ field, code, message }]);

/** The entity that a migration holds: the statement's own, or one that a foreign key of either leads to. */
function gated(entities: Workspace['entities'], name: string): Entity | undefined {
  const entity = entities.get(name);
  if (entity === undefined || entity.gate !== null) return entity;
  for (const other of entities.values()) {
    if (other.gate !== null && (refersTo(entity, other) || refersTo(other, entity))) return other;
  }
  return undefined;
}

function refersTo(entity: Entity, other: Entity): boolean {
  return [...entity.relations.values()].some(
    (relation) => relation.kind === 'belongsTo' && relation.entity === other.name,
  );
}
