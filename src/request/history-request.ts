// Parses the query string of the history of a record.
import type { FieldTree } from './paths.ts';
import { readQuery } from './read-parameters.ts';

export interface HistoryRequest {
  readonly size: number;
  /** Id of the last event of the page before, as written. */
  readonly after: string | undefined;
  /** Fields to show, or undefined for all. */
  readonly fields: FieldTree | 'all' | undefined;
}

const DEFAULT_SIZE = 20;

/** Throws 400. */
export function parseHistoryRequest(query: string): HistoryRequest {
  const { size = DEFAULT_SIZE, after, fields } = readQuery('history', query);
  return { size, after, fields };
}
