// A database from one PostgreSQL to an empty one of another version: definitions, rows, sequences, and in the end the proof
// that all of it is there. Nobody else may write to either meanwhile. What holds numbers that only the old server
// understands begins anew.
import { beginEpochs } from '../catalog/timeline.ts';
import { backendOf, copyInto, copyOut } from '../db/copy.ts';
import { type Database, makeDatabase, type Session } from '../db/pool.ts';
import type { Route } from '../db/route.ts';
import { type Fragment, ident, join, literal, sql, tableRef, toQuery } from '../sql/fragment.ts';
import {
  AFTER,
  ALL_SEQUENCES,
  BEFORE,
  type ClonedTable,
  CONTENTS,
  extensions,
  LAST,
  STRANGERS,
  schemas,
  TABLES,
} from './definitions.ts';

export interface Clone {
  /** Both as superusers. */
  readonly from: Route;
  readonly to: Route;
  /** The role of `to` that everything will belong to. */
  readonly owner: string;
  /** Called with whole percents, 0 to 100. */
  readonly onProgress: (percent: number) => void;
}

export interface Cloned {
  readonly tables: number;
  readonly records: number;
  /** Other roles and databases of the server, which stay where they are. */
  readonly left: readonly string[];
}

/** Says what is in the way, in words for whoever starts the server. */
export class CloneError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CloneError';
  }
}

// Totals of tables and living processes: numbers of transactions and of tables, which are others on another server. Lists count
// and keep totals anew.
const LEFT_EMPTY = /^(wda\.(total|process)|.*\.\$total)$/;
const PART_BYTES = 262_144;
const NEWLINE = 10;
const CONNECT_MS = 60_000;
// The rest is for constraints and indexes.
const PERCENT_OF_ROWS = 70;

/** Rejects with CloneError, or with an error of either database; `to` is then of no use any more. */
export async function cloneDatabase({ from, to, owner, onProgress }: Clone): Promise<Cloned> {
  const [source, target] = [openDatabase(from), openDatabase(to)];
  try {
    return await inSession(source, (reader) =>
      inSession(target, async (writer) => {
        await refuseStrangers(reader);
        for (const query of [schemas(owner), extensions(owner)]) await run(writer, await statements(reader, query));
        await writer.execute(sql`set role ${ident(owner)}; set check_function_bodies = off`.text);
        for (const query of BEFORE) await run(writer, await statements(reader, query));
        const moved = await moveTables(source, reader, writer, (share) =>
          onProgress(Math.floor(share * PERCENT_OF_ROWS)),
        );
        for (const query of AFTER) await run(writer, await statements(reader, query));
        await moveSequences(reader, writer);
        const last: string[] = [];
        for (const query of LAST) last.push(...(await statements(reader, query)));
        for (const [index, text] of last.entries()) {
          onProgress(PERCENT_OF_ROWS + Math.floor((index / last.length) * (99 - PERCENT_OF_ROWS)));
          await writer.execute(text);
        }
        await compare(reader, writer);
        await beginEpochs(writer);
        await writer.execute(sql`reset role; analyze`.text);
        await takeSettings(reader, writer);
        onProgress(100);
        return { ...moved, left: await othersOf(reader, owner) };
      }),
    );
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

function openDatabase(connection: Route): Database {
  return makeDatabase({
    connection,
    processes: 1,
    readConnections: 1,
    writeConnections: 1,
    slowConnections: 1,
    transferConnections: 1,
    batchConnections: 1,
    maxQueue: 1,
    statementTimeoutMs: CONNECT_MS,
    maxResponseBytes: 0,
    onError: () => undefined,
  });
}

/** Without limits: an index may take hours. */
const inSession = <T>(db: Database, work: (session: Session) => Promise<T>): Promise<T> =>
  db.session(
    async (session) => {
      await session.execute(
        sql`set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0`.text,
      );
      return work(session);
    },
    { purpose: 'migration' },
  );

async function statements(session: Session, query: Fragment): Promise<string[]> {
  return (await session.query<{ text: string }>(toQuery(query))).map(({ text }) => text);
}

async function run(session: Session, texts: readonly string[]): Promise<void> {
  for (const text of texts) await session.execute(text);
}

async function refuseStrangers(session: Session): Promise<void> {
  const found = await session.query<{ what: string }>(toQuery(STRANGERS));
  if (found.length === 0) return;
  throw new CloneError(
    `The database has something that no server makes and that cannot be moved: ${found.map(({ what }) => what).join(', ')}`,
  );
}

/** `onShare`: called with the share of the bytes that are moved, 0 to 1. */
async function moveTables(
  source: Database,
  reader: Session,
  writer: Session,
  onShare: (share: number) => void,
): Promise<Omit<Cloned, 'left'>> {
  const tables = await reader.query<ClonedTable>(toQuery(TABLES));
  const all = tables.reduce((sum, { bytes }) => sum + bytes, 1);
  let [done, records] = [0, 0];
  for (const table of tables) {
    const { text, bytes } = table;
    // One transaction: its pages may say at once that all may see what is in them, and need not be in the log.
    await writer.execute(`${sql`begin`.text}; ${text}`);
    records += await moveRows(source, reader, writer, table, (copied) =>
      onShare((done + Math.min(copied, bytes)) / all),
    );
    await writer.execute(sql`commit`.text);
    done += bytes;
    onShare(done / all);
  }
  return { tables: tables.length, records };
}

async function moveRows(
  source: Database,
  reader: Session,
  writer: Session,
  table: ClonedTable,
  onBytes: (copied: number) => void,
): Promise<number> {
  const { schema, name, columns } = table;
  if (columns.length === 0 || LEFT_EMPTY.test(`${schema}.${name}`)) return 0;
  const names = join(columns.map(ident));
  let [copied, lines] = [0, 0];
  async function* parts(): AsyncGenerator<Buffer> {
    const text = sql`copy ${tableRef(table)} (${names}) to stdout`.text;
    for await (const part of copyOut(reader, backendOf(source, reader), text, PART_BYTES)) {
      copied += part.length;
      for (let at = part.indexOf(NEWLINE); at >= 0; at = part.indexOf(NEWLINE, at + 1)) lines++;
      onBytes(copied);
      yield part;
    }
  }
  const text = sql`copy ${tableRef(table)} (${names}) from stdin (freeze)`.text;
  const written = await copyInto(writer, text, parts(), () => undefined);
  if (written !== lines)
    throw new CloneError(`Table ${schema}.${name} has ${lines} rows, of which ${written} were written`);
  return written;
}

async function moveSequences(reader: Session, writer: Session): Promise<void> {
  for (const sequence of await reader.query<{ schema: string; name: string }>(toQuery(ALL_SEQUENCES))) {
    const place = tableRef(sequence);
    const [at] = await reader.query<{ last: string; used: boolean }>(
      toQuery(sql`select last_value::text as last, is_called as used from ${place}`),
    );
    await writer.query(toQuery(sql`select setval(${place.text}::regclass, ${at?.last}::int8, ${at?.used}::bool)`));
  }
}

/** Rows were counted as they went; this is about all that is around them. */
async function compare(reader: Session, writer: Session): Promise<void> {
  const [there, here] = await Promise.all([reader, writer].map(contents));
  const missing = [...(there ?? [])].filter((line) => !here?.has(line));
  const added = [...(here ?? [])].filter((line) => !there?.has(line));
  if (missing.length + added.length === 0) return;
  throw new CloneError(
    `The new database is another one: ${[...missing.map((line) => `no ${line}`), ...added].slice(0, 10).join(', ')}`,
  );
}

async function contents(session: Session): Promise<ReadonlySet<string>> {
  const [row] = await session.query<{ lines: string | null }>(toQuery(CONTENTS));
  return new Set(row?.lines?.split('\n'));
}

async function othersOf(session: Session, owner: string): Promise<string[]> {
  const rows = await session.query<{ what: string }>(
    toQuery(sql`select 'role ' || rolname as what from pg_roles where oid >= 16384 and rolname <> ${owner}
union all select 'database ' || datname from pg_database where oid >= 16384 and datname <> current_database() order by 1 limit 20`),
  );
  return rows.map(({ what }) => what);
}

interface Setting {
  readonly name: string;
  readonly setting: string;
}

const SETTINGS = sql`select distinct on (name) name, setting from pg_file_settings where setting is not null and error is null
order by name, seqno desc`;

// ALTER SYSTEM would quote a list as one name.
const LISTS = new Set([
  'shared_preload_libraries',
  'session_preload_libraries',
  'local_preload_libraries',
  'temp_tablespaces',
  'search_path',
  'unix_socket_directories',
]);

/** What was changed in postgresql.conf or by ALTER SYSTEM, where this version has such a setting and takes the value. */
async function takeSettings(reader: Session, writer: Session): Promise<void> {
  const [there, here] = await Promise.all([reader, writer].map((session) => session.query<Setting>(toQuery(SETTINGS))));
  const own = new Map(here?.map(({ name, setting }) => [name, setting]));
  for (const { name, setting } of there ?? []) {
    if (own.get(name) === setting || LISTS.has(name)) continue;
    const text = sql`alter system set ${join(name.split('.').map(ident), '.')} = ${literal(setting)}`.text;
    await writer.execute(text).catch(() => undefined);
  }
}
