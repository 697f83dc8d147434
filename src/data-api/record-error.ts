// Translates PostgreSQL's errors of statements on records into API errors that name the field, relation or migration.
import {
  type DatabaseError,
  getViolatedConstraint,
  isDatabaseError,
  isOutcomeUnknown,
  TOO_LARGE,
  translateStatementError,
} from '../database/errors.ts';
import {
  type ApiError,
  type Detail,
  migrationInProgress,
  notUnique,
  stillReferenced,
  validationFailed,
} from '../errors.ts';
import { fieldOfColumn, findConstraintOwner, type Violated } from '../model/constraint-owner.ts';
import type { Entity } from '../model/entity.ts';
import type { Workspace } from '../model/workspace.ts';
import { idsUsedUp, recordTooLarge, writeUnknown } from './errors.ts';

export type WriteKind = 'create' | 'update' | 'delete';

/**
 * Translates an error of a statement on a record of `entity`. `write`: kind of the statement, or undefined for a read.
 */
export function toRecordError(
  error: unknown,
  workspace: Pick<Workspace, 'constraints' | 'entities'>,
  entity: string,
  write?: WriteKind,
): ApiError {
  if (write !== undefined && isOutcomeUnknown(error)) return writeUnknown(error);
  if (!isDatabaseError(error)) return translateStatementError(error);
  switch (error.code) {
    case '23505':
    case '23503':
    case '23001':
    case '23514':
      return toViolationError(error, findConstraintOwner(getViolatedConstraint(error), workspace), write);
    case '23502':
      return invalidValue(fieldOfColumn(error.column, workspace.entities.get(entity)), 'REQUIRED', 'is required');
    case TOO_LARGE:
      return write === undefined ? translateStatementError(error) : recordTooLarge(error);
    case '54000':
      // A text of about a gigabyte that PostgreSQL could not build, or an index entry that is too long.
      if (write === undefined) return translateStatementError(error);
      if (error.routine === 'enlargeStringInfo') return recordTooLarge(error);
      return validationFailed([{ field: null, code: 'TOO_LONG', message: 'a value is too long for the index on it' }]);
    case '2200H':
      return idsUsedUp(entity, error);
    case '55P03': {
      const gatedEntity = findGated(workspace.entities, entity);
      return gatedEntity?.gate == null
        ? translateStatementError(error)
        : migrationInProgress(gatedEntity.name, gatedEntity.gate);
    }
    default:
      return translateStatementError(error);
  }
}

function toViolationError(error: DatabaseError, owner: Violated | undefined, write: WriteKind | undefined): ApiError {
  const isReferenced = error.code === '23001' || (error.code === '23503' && write === 'delete');
  if (isReferenced) {
    const records = owner && { entity: owner.entity, relation: owner.relation ?? joinNames(owner) };
    return stillReferenced(records, error);
  }
  if (owner === undefined) return translateStatementError(error);
  if (error.code === '23505') return notUnique(joinNames(owner), error);
  if (error.code === '23503') {
    return invalidValue(joinNames(owner), 'REFERENCE_NOT_FOUND', 'refers to a record that does not exist');
  }
  return owner.isNull
    ? invalidValue(joinNames(owner), 'REQUIRED', 'is required')
    : invalidValue(joinNames(owner), 'OUT_OF_RANGE', 'is outside what the schema allows');
}

const joinNames = ({ fields }: Violated): string => fields.join(', ');

const invalidValue = (field: string | null, code: Detail['code'], message: string): ApiError =>
  validationFailed([{ field, code, message }]);

/** Finds the entity that a migration has gated: the statement's own, or one at the other end of a foreign key. */
function findGated(entities: Workspace['entities'], name: string): Entity | undefined {
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
