// Errors of changes to a schema.
import { ApiError, badRequest, type Detail } from '../errors.ts';

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
