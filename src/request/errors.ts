// Errors of requests that name too much.
import { ApiError } from '../errors.ts';

export const tooManyRecords = (count: number, most: number): ApiError =>
  new ApiError('TOO_MANY_RECORDS', `The request names ${count} records, and ${most} are the most; send them in parts`);

export const tooManyOperations = (count: number, most: number): ApiError =>
  new ApiError('TOO_MANY_OPERATIONS', `The batch has ${count} operations, and ${most} are the most; send it in parts`);
