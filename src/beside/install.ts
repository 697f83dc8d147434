// Makes what stands beside the tables of a workspace: numbered SQL files, which run once in its PostgreSQL schema and are
// recorded there, so that a schema which is dumped or moved knows how far it is. Nobody waits for it: tables of records are
// not touched.
import { readdirSync, readFileSync } from 'node:fs';
import { sqlState } from '../db/pg-error.ts';
import type { Database, Session, Work } from '../db/pool.ts';
import { type BesideName, beside, installed } from '../sql/beside-names.ts';
import { ident, sql, toQuery } from '../sql/fragment.ts';

const FOLDER = new URL('../../install/workspace/', import.meta.url);
const SCHEMA = '{schema}';
const MAKES_FUNCTION = /^create (?:or replace )?(function \{schema\}\."\$(\w+)"\([\s\S]*)/m;
const IN_SCHEMA = /\{schema\}\."\$(\w+)"/g;

interface InstallFile {
  /** `000001-beside-tables`. */
  readonly name: string;
  readonly number: number;
  readonly statements: readonly string[];
}

const FILES: readonly InstallFile[] = readdirSync(FOLDER)
  .sort()
  .map((file) => ({
    name: file.replace(/\.sql$/, ''),
    number: Number.parseInt(file, 10),
    statements: statementsOf(readFileSync(new URL(file, FOLDER), 'utf8')),
  }));

/** The number of the last file: of a schema that has all of them. */
export const LAST_STAGE = FILES.at(-1)?.number ?? 0;

/** Statements of a file: an empty line follows each of them, and none has one in it. One is sent at a time. */
function statementsOf(text: string): readonly string[] {
  return text
    .split(/;\s*\n(?:\s*\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** What makes a function of a workspace, as the last file has it; `name(table)` of the names in it says what to put there. */
export function functionText(name: BesideName, named: (name: string) => string): string {
  const text = FILES.flatMap(({ statements }) => statements)
    .map((statement) => MAKES_FUNCTION.exec(statement))
    .findLast((found) => found?.[2] === name)?.[1];
  if (text === undefined) throw new TypeError(`no file makes ${name}`);
  return `create or replace ${text.replaceAll(IN_SCHEMA, (_, one) => named(one))}`;
}

type Runs = Pick<Session, 'query' | 'execute'>;

/** In the transaction that makes the schema. */
export function installBeside(session: Runs, schema: string): Promise<void> {
  return runFrom(session, schema, 0);
}

/**
 * Runs the files that have not run in the schema of a workspace that is there already. For a transaction with the lock
 * of lockStage().
 */
export async function raiseBeside(session: Runs, workspaceId: string, schema: string): Promise<void> {
  const stage = await stageOf(session, schema);
  await runFrom(session, schema, stage);
  if (stage > 0) return;
  await session.query(toQuery(sql`select ${installed('hand_over_keys')}(${workspaceId}::int8, ${schema})`));
}

/** Until the end of the transaction nobody else runs files in the workspace's schema. */
export async function lockStage(session: Pick<Session, 'query'>, workspaceId: string): Promise<void> {
  // install/data/000024 takes it shared.
  await session.query(
    toQuery(sql`select pg_advisory_xact_lock(hashtextextended(${`stage of workspace ${workspaceId}`}, 0))`),
  );
}

async function stageOf(session: Runs, schema: string): Promise<number> {
  const table = beside(schema, 'installed');
  const [place] = await session.query(toQuery(sql`select where to_regclass(${table.text}) is not null`));
  if (place === undefined) return 0;
  const rows = await session.query<{ name: string }>(toQuery(sql`select name from ${table}`));
  return Math.max(0, ...rows.map(({ name }) => Number.parseInt(name, 10)));
}

/**
 * The number of the last file that has run in the schema, 0 for none, by a statement of the workspace like any other: one that can
 * be stopped while the node of the schema is silent. A function that catches errors, such as `wda.workspace_stage`, cannot.
 */
export async function loadStage(
  db: Pick<Database, 'run'>,
  schema: string,
  work: Pick<Work, 'tenant' | 'place'>,
): Promise<number> {
  const last = sql`select max(left(name, 6)::int4)::text from ${beside(schema, 'installed')}`;
  try {
    const [row] = await db.run(toQuery(last), 'read', work);
    return Number(row?.[0] ?? 0);
  } catch (error) {
    if (sqlState(error) === '42P01') return 0;
    throw error;
  }
}

async function runFrom(session: Runs, schema: string, stage: number): Promise<void> {
  const place = ident(schema).text;
  for (const { name, number, statements } of FILES) {
    if (number <= stage) continue;
    for (const statement of statements) await session.execute(statement.replaceAll(SCHEMA, () => place));
    await session.query(toQuery(sql`insert into ${beside(schema, 'installed')} (name) values (${name})`));
  }
}
