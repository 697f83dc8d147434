// Errors below /console/api.
import { ApiError } from '../errors.ts';

/** Error of an `Authorization` header below /console/api. */
export const sessionOnly = (): ApiError =>
  new ApiError(
    'SESSION_REQUIRED',
    'Below /console/api a session is needed; Authorization is for the same paths below /api',
    {
      headers: { 'WWW-Authenticate': 'Cookie realm="console"' },
    },
  );

/** Error of a session in a workspace where its key is not valid. A 401 would ask to sign in again. */
export const sessionNotHere = (): ApiError =>
  new ApiError('SESSION_NOT_VALID_HERE', 'What you have signed in with is not valid here');

/** Error of a request below /console/api from another page than the console's. */
export const foreignPage = (): ApiError =>
  new ApiError(
    'FOREIGN_PAGE',
    'Below /console/api only the page of the console may ask; programs use the same paths below /api',
  );

export const notByThePage = (): ApiError =>
  new ApiError('CONSOLE_HEADER_REQUIRED', 'Below /console/api a change needs the header X-Console: 1');
