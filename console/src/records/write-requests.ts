// The requests that write records: each carries the version that was read, and a key by which it is done once.

import { isApiError } from '../api/api-error.ts';
import { Digits } from '../api/json.ts';
import { requestExact } from '../api/request.ts';
import { retryDelay, sleep } from '../api/retry.ts';
import type { Values } from './history.ts';
import { type EntityRef, entityPath, parseVersion, type Versioned } from './requests.ts';
import type { RecordValue } from './value.ts';

/** 128 random bits: `crypto.randomUUID` is not there on plain http. */
export const createIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Keys of a form: a request that is sent again as it was has the same key, and is done once. */
export function createKeyCache(): (request: string) => string {
  let last: { readonly request: string; readonly key: string } | undefined;
  return (request) => {
    if (last?.request !== request) last = { request, key: createIdempotencyKey() };
    return last.key;
  };
}

/** Sends until an answer arrives, which asks for a request with a key; `isWanted` false: what was lost stays lost. */
export async function retryUnreachable<T>(send: () => Promise<T>, isWanted: () => boolean): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await send();
    } catch (error) {
      const pause = isApiError(error, 'UNREACHABLE') ? retryDelay(error, failures) : undefined;
      if (pause === undefined) throw error;
      await sleep(pause, undefined);
      if (!isWanted()) throw error;
    }
  }
}

export interface Update {
  readonly id: string;
  readonly version: string;
  readonly values: Values;
}

/** Changes the given fields alone, if the record still has this version. */
export async function updateRecord(
  entityRef: EntityRef,
  { id, version, values }: Update,
  key: string,
): Promise<Versioned> {
  const { data, etag } = await requestExact<RecordValue>({
    method: 'PATCH',
    path: entityPath(entityRef, `/${id}`),
    body: Object.fromEntries(values),
    waits: false,
    headers: { 'Idempotency-Key': key, ...(version === '' ? {} : { 'If-Match': `"${version}"` }) },
  });
  return { record: data, version: parseVersion(etag) };
}

// WDA_MAX_BULK as it is set when nobody sets it; the server refuses what is more than its own.
export const MAX_BULK = 1000;

/** Changes many records, all or none. Gives the versions that they have by it, each in its place. */
export async function updateRecords(
  entityRef: EntityRef,
  updates: readonly Update[],
  key: string,
): Promise<readonly string[]> {
  const { meta } = await requestExact({
    method: 'PATCH',
    path: entityPath(entityRef, '/_bulk?return=minimal&versions=true'),
    body: {
      data: updates.map(({ id, version, values }) => ({
        ...Object.fromEntries(values),
        id: new Digits(id),
        $version: version,
      })),
    },
    waits: false,
    headers: { 'Idempotency-Key': key },
  });
  return meta.versions as readonly string[];
}

/** Deletes records that still have these versions, all or none. */
export async function deleteRecords(entityRef: EntityRef, versions: ReadonlyMap<string, string>): Promise<void> {
  await requestExact({
    method: 'POST',
    path: entityPath(entityRef, '/_bulk/delete'),
    body: { ids: [...versions.keys()].map((id) => new Digits(id)), versions: Object.fromEntries(versions) },
    headers: { 'Idempotency-Key': createIdempotencyKey() },
  });
}

/** Deleted records come back with their ids; time stamps are the server's. Owners alone may give ids. */
export async function restoreRecords(
  entityRef: EntityRef,
  records: readonly RecordValue[],
  readOnly: readonly string[],
): Promise<void> {
  const data = records.map((record) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !readOnly.includes(name))),
  );
  await requestExact({
    method: 'POST',
    path: entityPath(entityRef, '/_bulk?onConflict=id&conflict=skip&return=minimal'),
    body: { data },
    headers: { 'Idempotency-Key': createIdempotencyKey() },
  });
}
