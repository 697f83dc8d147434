// Formats an error for a model: the same message as for people, and every mistake.
import type { ApiError } from '../errors.ts';

const MAX_DETAILS = 20;

export function formatError({ status, code, message, details = [], members }: ApiError): string {
  const { retryAfterSeconds } = members;
  return [
    `${status} ${code}: ${message}`,
    ...details.slice(0, MAX_DETAILS).map((detail) => `- ${detail.field ?? 'record'} ${detail.code}: ${detail.message}`),
    ...(details.length > MAX_DETAILS ? [`- and ${details.length - MAX_DETAILS} more`] : []),
    ...(typeof retryAfterSeconds === 'number' ? [`Retry after ${retryAfterSeconds} seconds`] : []),
  ].join('\n');
}
