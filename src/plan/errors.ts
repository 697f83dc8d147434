// Errors of requests that do not fit the schema or the row rules.
import { type ApiError, badRequest, forbidden, shorten } from '../errors.ts';

export const notExpandable = (relation: string, allowed: Iterable<string>): ApiError =>
  badRequest('NOT_EXPANDABLE', `Relationship ${relation} is not expandable. Allowed: ${[...allowed].join(', ')}`);

export const expandTooDeep = (maximum: number, path: string): ApiError =>
  badRequest('EXPAND_TOO_DEEP', `Expand depth exceeds maximum of ${maximum}: ${shorten(path, 1000)}`);

export const deletesOutside = (entity: string): ApiError =>
  forbidden(
    'CASCADE_NOT_ALLOWED',
    `Deleting records of ${entity} would change records that the credential does not reach`,
  );
