// Errors below /console/api.
import { ApiError } from '../errors.ts';

/** `Authorization` at the console's door. */
export const sessionOnly = (): ApiError =>
  new ApiError(
    'SESSION_REQUIRED',
    'Below /console/api a session is needed; Authorization is for the same paths below /api',
    {
      headers: { 'WWW-Authenticate': 'Cookie realm="console"' },
    },
  );

/** A session in force where its key is not valid. 401 would say that one must sign in again. */
export const sessionNotHere = (): ApiError =>
  new ApiError('SESSION_NOT_VALID_HERE', 'The key that you have signed in with is not valid here');

/** At the console's door: the request of a page that is not the console's. */
export const foreignPage = (): ApiError =>
  new ApiError(
    'FOREIGN_PAGE',
    'Below /console/api only the page of the console may ask; programs use the same paths below /api',
  );

export const notByThePage = (): ApiError =>
  new ApiError('CONSOLE_HEADER_REQUIRED', 'Below /console/api a change needs the header X-Console: 1');
