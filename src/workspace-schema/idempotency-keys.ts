// Stores idempotency keys in the schema of the workspace, in one transaction with the records. Concurrent requests with
// one key are serialized by the primary key of the table: the second waits for the first.
import { LRUCache } from 'lru-cache';
import { isOwnConflict, isOwnLockTimeout, isStaleSnapshot } from '../database/errors.ts';
import type { StatementOptions } from '../database/executor.ts';
import type { Database, Executor } from '../database/pool.ts';
import type { Metric } from '../metric.ts';
import { type Fragment, type Query, sql, toQuery } from '../sql/fragment.ts';
import { internalRef } from '../sql/internal-names.ts';
import { type KeyBudget, type KeyLimits, type KeyTable, makeKeyBudget } from './idempotency-budget.ts';

/** Identity of a key. */
export type KeyName = Omit<RequestKey, 'fingerprint'>;

/** A key with the fingerprint of its request: hashes as PostgreSQL writes bytea. */
export interface RequestKey extends KeyTable {
  readonly scope: string;
  readonly fingerprint: string;
}

/** The stored part of a response, for replays. */
export interface StoredResponse {
  readonly status: number;
  readonly etag: string | null;
  readonly location: string | null;
  /** Body, or null if it is empty, longer than 64 KiB, or beyond the budget of the workspace. */
  readonly body: string | null;
  /** JSON with the ids of the records in the response. */
  readonly records: string | null;
}

/** Response of a single write before its row is known. */
export interface ResponseForm {
  readonly status: 200 | 201 | 204;
  readonly etagSuffix: string | undefined;
  readonly locationPrefix: string | undefined;
}

export type KeyEvent = 'stored' | 'idsOnly' | 'replayed' | 'read' | 'reused' | 'inUse' | 'refused';

export interface IdempotencyKeys {
  /** Extends the statement of a single write, which then stores its response under the key. */
  addKey(write: Query, key: RequestKey, form: ResponseForm): Query;
  /** Inserts the key in a transaction, before other writes. */
  claim(executor: Executor, key: RequestKey, options: StatementOptions): Promise<void>;
  /** Stores the response, in the same transaction. A body is left out beyond the budget, unless `isWhole`. */
  complete(
    executor: Executor,
    key: RequestKey,
    response: StoredResponse,
    options: StatementOptions,
    isWhole?: boolean,
  ): Promise<void>;
  /** Finds the response of the request that was done with the key. */
  find(
    executor: Executor,
    key: KeyName,
    options: StatementOptions,
  ): Promise<(StoredResponse & { fingerprint: string }) | undefined>;
  /** Deletes a key that has expired. */
  forget(executor: Executor, key: KeyName, options: StatementOptions): Promise<void>;
  /** Removes expired keys from the next workspaces, some at a time. */
  sweep(): Promise<void>;
  /** Milliseconds until the next sweep: fewer while there are workspaces left. */
  pauseMs(): number;
  /** True for the error of a statement whose key exists already. */
  isConflict(error: unknown): boolean;
  /** True when another transaction held the key for longer than the lock timeout, and still runs. */
  isWait(error: unknown): boolean;
  /** True when the workspace has as many keys as it may have. */
  isFull(key: KeyName): boolean;
  /** True while another transaction, which has not ended, stores the key. */
  isHeld(key: KeyName): Promise<boolean>;
  count(event: KeyEvent): void;
  /** Counts a key that was stored with a response. */
  countStored(key: KeyName, bodyBytes: number): void;
  getMetrics(): readonly Metric[];
}

// Longest body that is stored, in bytes.
const MAX_BODY_BYTES = 65_536;
// More than the bytes around the record in a body.
const DATA_BYTES = 16;
const SWEEP_BATCH_SIZE = 5000;
// Workspaces of one run. Reading an empty table takes 0.2 ms.
const WORKSPACES_PER_RUN = 100;
const ROUND_MS = 300_000;
const RUN_PAUSE_MS = 1000;
const MAX_TEXTS = 8_388_608;

const getTable = (schema: string): Fragment => internalRef(schema, 'idempotency_key');

// Estimate of the planner, or by size before the first ANALYZE: counting would read all of the tables.
const SIZE = sql`select coalesce(sum(case when reltuples >= 0 then reltuples else pg_relation_size(oid) / 200 end), 0)::float8 as rows
from pg_class where relname = '$idempotency_key' and relkind = 'r'`;

const selectTablesAfter = (oid: string): Fragment => sql`select c.oid::int8 as oid, n.nspname as schema
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relname = '$idempotency_key' and c.relkind = 'r' and c.oid > ${oid}::oid order by c.oid limit ${String(WORKSPACES_PER_RUN)}::int8`;

// End of a write that returns its row under the name `$w`.
const END = sql` select * from "$w"`.text;

// Longest look at a key after the deadline of its request.
const HELD_DEADLINE_MS = 500;

const PRIMARY_KEY = '$idempotency_key_pkey';

export function makeIdempotencyKeys(db: Database, hours: number, limits: KeyLimits): IdempotencyKeys {
  const budget = makeKeyBudget(db, limits);
  const texts = new LRUCache<string, string>({ maxSize: MAX_TEXTS, sizeCalculation: (text) => text.length });
  const counts: Record<KeyEvent, number> = {
    stored: 0,
    idsOnly: 0,
    replayed: 0,
    read: 0,
    reused: 0,
    inUse: 0,
    refused: 0,
  };
  let removed = 0;
  let keyCount = 0;
  /** Last swept table; 0 between two rounds. */
  let lastTable = '0';
  const isValid = sql`created_at > now() - make_interval(hours => ${String(hours)}::int4)`;

  async function sweepTable(table: Fragment): Promise<void> {
    for (;;) {
      const expired = sql`select scope from ${table} where not (${isValid}) limit ${String(SWEEP_BATCH_SIZE)}::int8 for update skip locked`;
      const rows = await db.query(toQuery(sql`delete from ${table} where scope in (${expired}) returning 1`));
      removed += rows.length;
      if (rows.length < SWEEP_BATCH_SIZE) return;
    }
  }

  function getText(text: string, slots: number, { schema }: KeyName, isDelete: boolean): string {
    const cacheKey = isDelete ? `-${text}` : text;
    const cached = texts.get(cacheKey);
    if (cached !== undefined) return cached;
    const keyedText = buildKeyedText(text, slots, getTable(schema).text, isDelete);
    texts.set(cacheKey, keyedText);
    return keyedText;
  }

  async function claim(executor: Executor, key: RequestKey, options: StatementOptions): Promise<void> {
    const { schema, scope, fingerprint } = key;
    const statement = sql`insert into ${getTable(schema)} (scope, fingerprint) values (${scope}::bytea, ${fingerprint}::bytea)`;
    await executor.run(toQuery(statement, `key.begin.${schema}`), 'write', options);
  }

  return {
    addKey({ text, values, name }, key, { status, etagSuffix, locationPrefix }) {
      const isDelete = status === 204;
      const keyValues = [key.scope, key.fingerprint, String(status)];
      const fullText = getText(text, values.length, key, isDelete);
      const maxBytes = budget.hasBytes(key) ? MAX_BODY_BYTES - DATA_BYTES : 0;
      const responseValues = [etagSuffix ?? '', locationPrefix ?? null, String(maxBytes)];
      const allValues = [...values, ...keyValues, ...(isDelete ? [] : responseValues)];
      return name === undefined
        ? { text: fullText, values: allValues }
        : { text: fullText, values: allValues, name: `${name}.k` };
    },
    claim,
    async complete(executor, key, { status, etag, location, body, records }, options, isWhole = false) {
      const { schema, scope } = key;
      const isStored = isWhole || (Buffer.byteLength(body ?? '') <= MAX_BODY_BYTES && budget.hasBytes(key));
      const storedBody = isStored ? body : null;
      const statement = sql`update ${getTable(schema)} set status = ${String(status)}::int2, etag = ${etag}, location = ${location}, body = ${storedBody}, records = ${records} where scope = ${scope}::bytea`;
      await executor.run(toQuery(statement, `key.finish.${schema}`), 'write', options);
    },
    async find(executor, { schema, scope }, options) {
      const statement = sql`select status::text, etag, location, body, records, fingerprint::text from ${getTable(schema)} where scope = ${scope}::bytea and ${isValid}`;
      const [row] = await executor.run(toQuery(statement, `key.find.${schema}`), 'write', options);
      if (row === undefined) return undefined;
      const [status, etag = null, location = null, body = null, records = null, fingerprint] = row;
      return { status: Number(status), etag, location, body, records, fingerprint: fingerprint as string };
    },
    async forget(executor, { schema, scope }, options) {
      const statement = sql`delete from ${getTable(schema)} where scope = ${scope}::bytea and not (${isValid})`;
      await executor.run(toQuery(statement, `key.forget.${schema}`), 'write', options);
    },
    async sweep() {
      const tables = await db.query<{ oid: string; schema: string }>(toQuery(selectTablesAfter(lastTable)));
      for (const { oid, schema } of tables) {
        lastTable = oid;
        await sweepTable(getTable(schema)).catch((error) => {
          // The workspace was deleted.
          if (!isStaleSnapshot(error)) throw error;
        });
      }
      if (tables.length === WORKSPACES_PER_RUN) return;
      lastTable = '0';
      const [row] = await db.query<{ rows: number }>(toQuery(SIZE));
      keyCount = Math.round(row?.rows ?? 0);
    },
    pauseMs: () => (lastTable === '0' ? ROUND_MS : RUN_PAUSE_MS),
    isConflict: (error) => isOwnConflict(error, PRIMARY_KEY),
    isWait: (error) => isOwnLockTimeout(error, PRIMARY_KEY),
    async isHeld(key) {
      const rollback = new Error('the key is not stored');
      const options = { tenant: key.tenant, deadline: performance.now() + HELD_DEADLINE_MS, purpose: 'batch' } as const;
      try {
        await db.transaction(async ({ execute, executor }) => {
          await execute(sql`set local lock_timeout = '20ms'`.text);
          await claim(executor, { ...key, fingerprint: '\\x' }, options);
          throw rollback;
        }, options);
        return false;
      } catch (error) {
        return isOwnLockTimeout(error, PRIMARY_KEY);
      }
    },
    isFull: budget.isFull,
    count: (event) => void counts[event]++,
    countStored(key, bodyBytes) {
      const isStored = bodyBytes <= MAX_BODY_BYTES && budget.hasBytes(key);
      budget.add(key, isStored ? bodyBytes : 0);
      counts[isStored ? 'stored' : 'idsOnly']++;
    },
    getMetrics: () => buildKeyMetrics(counts, budget, { getRemoved: () => removed, getKeyCount: () => keyCount }),
  };
}

function buildKeyMetrics(
  counts: Readonly<Record<KeyEvent, number>>,
  budget: KeyBudget,
  { getRemoved, getKeyCount }: { readonly getRemoved: () => number; readonly getKeyCount: () => number },
): readonly Metric[] {
  return [
    {
      name: 'wda_idempotency_keys_total',
      help: 'Idempotent requests by outcome',
      read: () => counts,
    },
    {
      name: 'wda_idempotency_bytes_kept',
      help: 'Bytes of answers stored with idempotency keys, in the workspaces whose keys the process has counted',
      read: budget.getBytes,
      aggregator: 'max',
    },
    {
      name: 'wda_idempotency_keys_removed_total',
      help: 'Expired idempotency keys that were removed',
      read: getRemoved,
    },
    {
      name: 'wda_idempotency_keys_kept',
      help: 'Idempotency keys in the table, as PostgreSQL estimates it, at the last removal of expired ones',
      read: getKeyCount,
      aggregator: 'max',
    },
  ];
}

/**
 * Wraps a write in a CTE that also stores its response, and returns the rows of the write. `slots`: number of its
 * parameters.
 */
function buildKeyedText(write: string, slots: number, table: string, isDelete: boolean): string {
  const slot = (index: number, type: string): string => `$${slots + index}::${type}`;
  const columns = 'scope, fingerprint, status, records';
  const values = `${slot(1, 'bytea')}, ${slot(2, 'bytea')}, ${slot(3, 'int2')}, '[' || "$w".id || ']'`;
  const responseValues = isDelete
    ? ''
    : `, '"' || "$w".version || '.' || ${slot(4, 'text')} || '"', ${slot(5, 'text')} || "$w".id, case when octet_length("$w".data) < ${slot(6, 'int4')} then '{"data":' || "$w".data || '}' end`;
  // Inserts have their own CTEs, and end so (sql/write.ts). `returning`: without it a cluster copies the row to its
  // node, and reports a conflict only as a failed copy.
  const own = write.endsWith(END) ? write.slice(0, -END.length) : `with "$w" as (${write})`;
  return `${own}, "$k" as (insert into ${table} (${columns}${isDelete ? '' : ', etag, location, body'}) select ${values}${responseValues} from "$w" returning status)${END}`;
}
