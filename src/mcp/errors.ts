// Errors of tools and messages of agents.
import { type ApiError, badRequest, conflict, forbidden, hint, listNames, notFound, shorten } from '../errors.ts';

/** Error of a server or workspace whose settings exclude agents. */
export const agentsNotServed = (): ApiError => notFound('AGENTS_NOT_SERVED', 'This workspace is not served to agents');

/** Error of a forbidden write. `why`: a clause. */
export const agentsMayNotWrite = (why: string): ApiError =>
  forbidden('AGENTS_READ_ONLY', `Nothing may be written here: ${why}`);

export const confirmationRefused = (): ApiError =>
  conflict(
    'CONFIRMATION_MISMATCH',
    'The confirmation does not fit: it is for other arguments, the record has changed since, or it is older than ten minutes. Ask again without it',
  );

export const noSuchEntities = (name: string, suggestion: string | null, names: Iterable<string>): ApiError =>
  badRequest(
    'UNKNOWN_ENTITIES',
    `entities: there is no entity ${shorten(name)}.${hint(suggestion)} Known: ${listNames(names)}`,
  );

/** `setting`: what does not list the origin. */
export const foreignOrigin = (origin: string, setting: 'WDA_CORS_ORIGINS' | 'corsOrigins'): ApiError =>
  forbidden('FOREIGN_ORIGIN', `Pages of ${shorten(origin)} may not use this server: ${setting} does not list them`);

export const resultTooLarge = (bytes: number, limit: number): ApiError =>
  badRequest(
    'RESULT_TOO_LARGE',
    `The result has ${bytes} bytes, and ${limit} are the most. Ask for less: fewer fields, a smaller size, fewer expansions, a narrower filter`,
  );
