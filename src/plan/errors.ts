// Errors of requests that do not fit the schema or the row rules.
import { ApiError, badRequest, type Detail, forbidden, shorten } from '../errors.ts';

export const notExpandable = (relation: string, allowed: Iterable<string>): ApiError =>
  badRequest('NOT_EXPANDABLE', `Relationship ${relation} is not expandable. Allowed: ${[...allowed].join(', ')}`);

export const expandTooDeep = (maximum: number, path: string): ApiError =>
  badRequest('EXPAND_TOO_DEEP', `Expand depth exceeds maximum of ${maximum}: ${shorten(path, 1000)}`);

export const deletesOutside = (entity: string): ApiError =>
  forbidden(
    'CASCADE_NOT_ALLOWED',
    `Deleting records of ${entity} would change records that the credential does not reach`,
  );

/** Names the record among many: `item` is its index, or undefined for a request of one record. */
const locate = (item: number | undefined, field: string | null): { readonly details?: readonly Detail[] } =>
  item === undefined ? {} : { details: [{ index: item, field, code: 'READ_ONLY', message: 'is not granted' }] };

export const notGranted = (operation: string, entity: string, item?: number): ApiError =>
  new ApiError('NOT_GRANTED', `You may not ${operation} records of ${entity}`, locate(item, null));

export const fieldNotGranted = (field: string, entity: string, item?: number): ApiError =>
  new ApiError('NOT_GRANTED', `You may not write ${field} of ${entity}`, locate(item, field));

export const valuesNotGranted = (entity: string, item?: number): ApiError =>
  new ApiError('NOT_GRANTED', `You may not create records of ${entity} with these values`, locate(item, null));

/** `grant`: index of the grant in the document. */
export const changesUnavailable = (entity: string, grant: number): ApiError =>
  new ApiError(
    'CHANGES_UNAVAILABLE',
    `Changes of ${entity} cannot be read with your role: grants.${grant} of the entity depends on other records or on the time, so that a change alone does not show whether it holds`,
  );

export const changesOff = (entity: string | undefined): ApiError =>
  new ApiError(
    'CHANGES_OFF',
    entity === undefined
      ? 'No entity that you can read keeps changes. An owner turns it on by "changes": "feed" in the settings of an entity'
      : `${entity} keeps no changes. An owner turns it on by "changes": "feed" in the settings of the entity`,
  );

export const historyOff = (entity: string): ApiError =>
  new ApiError(
    'CHANGES_OFF',
    `${entity} keeps no history. An owner turns it on by "changes": "history" in the settings of the entity`,
  );

export const historyNotForUsers = (entity: string): ApiError =>
  new ApiError('HISTORY_NOT_FOR_USERS', `Users may not read the history of ${entity}`);
