// Requests that write records, each with the version from the read and an idempotency key.

import { isApiError } from '../api/api-error.ts';
import { Digits } from '../api/json.ts';
import { requestExact } from '../api/request.ts';
import { retryDelay, sleep } from '../api/retry.ts';
import type { Values } from './history.ts';
import { type EntityRef, entityPath, parseVersion, type Versioned } from './requests.ts';
import type { RecordValue } from './value.ts';

/** Creates 128 random bits: `crypto.randomUUID` is missing on plain http. */
export const createIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Creates a cache of idempotency keys: a form that sends an equal request again uses the same key, so it runs once. */
export function createKeyCache(): (request: string) => string {
  let last: { readonly request: string; readonly key: string } | undefined;
  return (request) => {
    if (last?.request !== request) last = { request, key: createIdempotencyKey() };
    return last.key;
  };
}

/** Retries a request with an idempotency key while the server is unreachable and `isWanted` is true. */
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

/** Updates the given fields alone, if the record still has this version. */
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

// Default of WDA_MAX_BULK; a server with a lower limit rejects larger requests.
export const MAX_BULK = 1000;

/** Updates many records, all or none. Returns their new versions in the same order. */
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

/** Creates deleted records with their former ids; the server sets the time stamps. Only owners may set ids. */
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
