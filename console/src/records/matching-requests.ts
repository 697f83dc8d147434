// Writes of all records that match the filter and the search of a list, and their jobs.
import { ApiError, type ErrorDetail } from '../api/api-error.ts';
import { Digits, type Json } from '../api/json.ts';
import { request, requestExact } from '../api/request.ts';
import type { EntityDocument, WorkspaceSchema } from '../api/schema.ts';
import { dataPath, type WorkspaceRef } from '../api/workspace.ts';
import { isNumeric } from './fields.ts';
import { type Condition, parseConditions, splitList, takesList } from './filter.ts';
import { findColumn } from './filter-paths.ts';
import type { ListQuery } from './list-query.ts';
import { type EntityRef, entityPath } from './requests.ts';

export type MatchingWrite =
  | { readonly kind: 'update'; readonly set: Readonly<Record<string, Json>> }
  | { readonly kind: 'delete' };

/** Records of a list. */
export interface Matching {
  readonly filter: Json;
  readonly search?: string;
}

/** Answer to a dry run. `written` is undefined for a job, which tries the first records. */
export interface Tried {
  readonly matched: number;
  readonly written: number | undefined;
}

export interface Job {
  readonly id: number;
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled';
  readonly matched: number;
  readonly processed: number;
  readonly updated?: number;
  readonly deleted?: number;
  readonly error: { readonly code: string; readonly message: string; readonly details?: readonly ErrorDetail[] } | null;
}

// Limit of the server for `max`.
const MOST_MATCHES = 1_000_000;

/** Returns the filter tree and the search of a list, with values of the types of their columns. */
export function toMatching(schema: WorkspaceSchema, entity: EntityDocument, { chips, search }: ListQuery): Matching {
  const toValue = (path: string, text: string): Json => {
    const type = findColumn(schema, entity, path)?.type;
    if (type !== undefined && (isNumeric(type) || type === 'relation') && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text))
      return new Digits(text);
    return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
  };
  const toNode = ({ path, operator, value }: Condition): Json => {
    if (value === undefined) return { field: path, op: operator };
    const values = takesList(operator) ? splitList(value).map((one) => toValue(path, one)) : toValue(path, value);
    return { field: path, op: operator, value: values };
  };
  const nodes = chips.map((chip) => {
    const conditions = parseConditions(chip).map(toNode);
    return chip.kind === 'or' ? { or: conditions } : (conditions[0] as Json);
  });
  return {
    filter: nodes.length === 0 ? { all: true } : nodes.length === 1 ? (nodes[0] as Json) : { and: nodes },
    ...(search === '' ? {} : { search }),
  };
}

const toPath = (entityRef: EntityRef, { kind }: MatchingWrite, query = ''): string =>
  entityPath(entityRef, `/_${kind}${query}`);

const toBody = (matching: Matching, write: MatchingWrite, max: number) => ({
  ...matching,
  ...(write.kind === 'update' ? { set: write.set } : {}),
  max: new Digits(String(max)),
});

interface Counts {
  readonly matched: Digits;
  readonly updated?: Digits;
  readonly deleted?: Digits;
}

const readWritten = ({ updated, deleted }: Counts): number | undefined => {
  const count = updated ?? deleted;
  return count === undefined ? undefined : Number(String(count));
};

export async function tryMatching(
  entityRef: EntityRef,
  matching: Matching,
  write: MatchingWrite,
  signal: AbortSignal,
): Promise<Tried> {
  const { data } = await requestExact<Counts>({
    method: 'POST',
    path: toPath(entityRef, write, '?dryRun=true'),
    body: toBody(matching, write, MOST_MATCHES),
    signal,
  });
  return { matched: Number(String(data.matched)), written: readWritten(data) };
}

/** Writes the records; returns the number of those that were written, or the id of the job that does it. */
export async function writeMatching(
  entityRef: EntityRef,
  matching: Matching,
  write: MatchingWrite,
  { max, key }: { readonly max: number; readonly key: string },
): Promise<{ readonly written: number } | { readonly job: number }> {
  const { status, data } = await requestExact<Counts & { readonly id: Digits }>({
    method: 'POST',
    path: toPath(entityRef, write),
    body: toBody(matching, write, max),
    waits: false,
    headers: { 'Idempotency-Key': key },
  });
  return status === 202 ? { job: Number(String(data.id)) } : { written: readWritten(data) ?? 0 };
}

export const fetchJob = async (workspace: WorkspaceRef, id: number, signal?: AbortSignal): Promise<Job> =>
  (await request<Job>({ path: dataPath(workspace, `/_jobs/${id}`), ...(signal && { signal }) })).data;

export async function cancelJob(workspace: WorkspaceRef, id: number): Promise<void> {
  await request({ method: 'POST', path: dataPath(workspace, `/_jobs/${id}/cancel`) });
}

/** Returns the error of a job that has failed. */
export const toJobError = ({ error }: Job): ApiError | undefined =>
  error === null ? undefined : new ApiError(error.message, { status: 200, code: error.code, details: error.details });
