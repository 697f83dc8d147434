// Errors of changes to a schema.
import { ApiError, badRequest, type Detail } from '../errors.ts';
import type { MigrationError } from '../store/migrations.ts';
import type { Follows } from '../store/workspaces.ts';

/** `most`: limit of the stored schema document in bytes. */
export const schemaTooLong = (most: number): ApiError =>
  badRequest(
    'SCHEMA_TOO_LARGE',
    `The schema document would have more than ${most} bytes with its settings and row rules: nothing was changed`,
  );

export const destructiveChange = (details: readonly Detail[]): ApiError =>
  new ApiError(
    'DESTRUCTIVE_CHANGE',
    `The change destroys data (${details.map((detail) => detail.message).join('; ')}). Repeat it with allowDestructive=true if that is meant`,
    { details },
  );

/** Refuses to change the schema of a workspace by itself, or a part of that. */
export const followsSharedSchema = ({ schema, version }: Pick<Follows, 'schema' | 'version'>): ApiError =>
  new ApiError(
    'FOLLOWS_SHARED_SCHEMA',
    `The workspace follows shared schema ${schema} (version ${version}): publish a version of that and roll it out, or end it with "follows": null`,
  );

/** Refuses that a workspace begins to follow a shared schema: records stand in the way. */
export function recordsInTheWay({ message, entity, field, sampleIds }: MigrationError): ApiError {
  const path = [entity ?? [], field ?? []].flat().join('.') || null;
  const ids = sampleIds.length === 0 ? '' : ` (ids ${sampleIds.join(', ')})`;
  return new ApiError('DATA_CONFLICT', `${message}${ids}. Nothing was changed`, {
    details: [{ field: path, code: 'INVALID', message: `${message}${ids}` }],
  });
}
