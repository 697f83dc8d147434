// Answers the history of a record: what happened to it, the last change first, and the record as it was.
import { forbidden, notFound, recordNotFound, responseTooLarge } from '../errors.ts';
import { mayAdminister } from '../model/principal.ts';
import { historyNotForUsers } from '../plan/errors.ts';
import { type HistoryPlace, MAX_LOOKED_AT, planHistory } from '../plan/feed.ts';
import type { FeedRow } from '../plan/result.ts';
import { limitToHistory } from '../plan/scan.ts';
import { parseId } from '../request/call.ts';
import { type HistoryRequest, parseHistoryRequest } from '../request/history-request.ts';
import { parseParameters } from '../request/query-string.ts';
import { formatEvent, listUnknown } from '../response/feed.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import { redactHistory, selectHistoryStart } from '../sql/feed.ts';
import { insertActivity, loadActor } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { removeBodies } from '../store/webhook-deliveries.ts';
import { buildStatementOptions, type EntityContext } from './context.ts';
import { notCursor } from './errors.ts';
import { loadEventContext, rethrowControl } from './feed-actors.ts';
import { measureRows } from './feed-page.ts';
import { runRead, type WriteDeps } from './reads.ts';
import { findVersion } from './writes.ts';

export interface HistoryDeps extends WriteDeps {
  readonly databases: Pick<Databases, 'directory' | 'forWorkspace'>;
}

/** Place of a plan that only checks whether the history may be read. */
const NOWHERE: HistoryPlace = { id: '0', change: undefined, isOne: false, size: 1, looks: 1 };

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Answers a page of the history of a record. */
export async function answerHistory(deps: HistoryDeps, context: EntityContext): Promise<Reply> {
  const { call, workspace, principal, entity } = context;
  const request = parseHistoryRequest(call.query);
  const seals = await deps.seals().catch(rethrowControl);
  const change = request.after === undefined ? undefined : seals.toChange(workspace.id, request.after);
  if (request.after !== undefined && change === undefined) throw notCursor();
  const { views } = planHistory(request.fields, entity, context, { ...NOWHERE, change });
  const id = await requireRecord(deps, context);
  const { rows, next } = await collectChanges(deps, context, request, { id, change });
  const isEmpty = rows.length === 0 && next === undefined && change === undefined;
  if (isEmpty && (await findVersion(deps, context, id)) === undefined) throw recordNotFound();
  const start = selectHistoryStart(workspace.databaseSchema, views[0].scan, deps.config.historyDays);
  const [since] = await context.executor.run(start, 'write', buildStatementOptions(context, 'quick'));
  const eventContext = await loadEventContext(deps.databases, { workspace, principal, views, rows, seals });
  const events = rows.map((row) => formatEvent(row, eventContext));
  const nextCursor = next === undefined ? null : seals.toEventId(workspace.id, next);
  const meta = JSON.stringify({ size: request.size, nextCursor, completeSince: since?.[0] ?? null });
  return jsonText(200, `{"data":[${events.join()}],"meta":${meta}}`, NO_STORE);
}

/** Answers the record as it was after an event, or before one that removed it. */
export async function answerHistoryEntry(deps: HistoryDeps, context: EntityContext): Promise<Reply> {
  parseParameters(context.call.query, []);
  const { record, unknown } = await readEntry(deps, context, context.call.event ?? '');
  const meta = unknown.length === 0 ? '' : `,"meta":${JSON.stringify({ unknown })}`;
  return jsonText(200, `{"data":${record}${meta}}`, NO_STORE);
}

/** A record as it was. */
export interface HistoryEntry {
  /** JSON text. */
  readonly record: string;
  /** Columns that it then had; those of fields that are stored and have the same type. */
  readonly columns: ReadonlySet<string>;
  /** Names of the fields that had another type, so that their values are not known. */
  readonly unknown: readonly string[];
}

/** Reads the record as it was after an event, or before one that removed it. */
export async function readEntry(deps: HistoryDeps, context: EntityContext, event: string): Promise<HistoryEntry> {
  const { entity, workspace, principal } = context;
  const seals = await deps.seals().catch(rethrowControl);
  const place = { ...NOWHERE, change: seals.toChange(workspace.id, event) ?? '0', isOne: true };
  planHistory(undefined, entity, context, place);
  const id = await requireRecord(deps, context);
  const plan = planHistory(undefined, entity, context, { ...place, id });
  const [row] = (await runRead(context, compile(plan, deps.compileOptions), { principal }, 'write')).slice(0, -1);
  const record = row?.after === true ? row.new : row?.old;
  if (row === undefined || !(row.before || row.after))
    throw notFound('EVENT_NOT_FOUND', 'The record has no such event');
  if (record === undefined || record === null) throw responseTooLarge(deps.config.maxResponseBytes);
  const columns = new Set(JSON.parse(row.columns ?? '[]') as readonly string[]);
  return { record, columns, unknown: listUnknown(row, plan.views[0]) };
}

/**
 * Removes the values of a record from its history, and from messages of webhooks that wait; the events stay. Owners alone: 403. Noted in the activity, in the same
 * transaction.
 */
export async function forgetHistory(deps: HistoryDeps, context: EntityContext): Promise<Reply> {
  const { call, entity, principal, workspace, executor } = context;
  parseParameters(call.query, []);
  if (!mayAdminister(principal, workspace.id))
    throw forbidden('ADMIN_RIGHT_REQUIRED', 'Only an owner may remove values from a history');
  if (executor.isTransaction) throw new TypeError('values are removed from a history in a transaction of its own');
  const id = parseId(call.id);
  const plan = planHistory(undefined, entity, context, NOWHERE);
  if (id === undefined) throw recordNotFound();
  const options = buildStatementOptions(context, 'unknown');
  const statement = redactHistory(workspace.databaseSchema, plan.views[0].scan, id);
  const hasEntries = await deps.databases.forWorkspace(workspace).transaction(
    async (session) => {
      const [row] = await session.executor.run(statement, 'write', options);
      const changes = Number(row?.[0] ?? 0);
      if (changes > 0) {
        await removeBodies(session, workspace.id, id);
        await insertActivity(session, {
          actor: await loadActor(session, principal),
          action: 'records.forget',
          organization: workspace.organization,
          workspace,
          entity: entity.name,
          subject: id,
          details: { changes },
        });
      }
      return row?.[1] === 't';
    },
    { tenant: workspace.id, purpose: 'batch' },
  );
  if (!hasEntries && (await findVersion(deps, context, id)) === undefined) throw recordNotFound();
  return noContent();
}

/** Changes of a record, the last one first, and the number of the one that the next page is before. */
interface HistoryPage {
  readonly rows: readonly FeedRow[];
  readonly next: string | undefined;
}

/** Returns the id of the record. Throws 404 if there cannot be one, or a user does not see it, and 403 without a grant for it. */
async function requireRecord(deps: HistoryDeps, context: EntityContext): Promise<string> {
  const { call, principal } = context;
  const id = parseId(call.id);
  if (id === undefined) throw recordNotFound();
  if (principal.kind !== 'external') return id;
  if ((await findVersion(deps, context, id)) === undefined) throw recordNotFound();
  const { entity } = context;
  const isShown =
    entity.access === undefined ||
    (await findVersion(deps, { ...context, entity: limitToHistory(entity) }, id)) !== undefined;
  if (!isShown) throw historyNotForUsers(entity.name);
  return id;
}

/** Reads changes of the record until the page is full, nothing is left, or it has looked at enough. */
async function collectChanges(
  { config }: HistoryDeps,
  context: EntityContext,
  { size, fields }: HistoryRequest,
  page: Pick<HistoryPlace, 'id' | 'change'>,
): Promise<HistoryPage> {
  const { entity, principal } = context;
  // Two statements of half the size are within the limit of an answer.
  const maxResponseBytes = Math.floor(config.maxResponseBytes / 2);
  const rows: FeedRow[] = [];
  let { change } = page;
  let looked = 0;
  let looks = size + 1;
  for (;;) {
    // A full page looks for one more event, as hidden changes must not look like more.
    const isFull = rows.length >= size || measureRows(rows) > maxResponseBytes;
    const place = { id: page.id, change, isOne: false, size: isFull ? 0 : size - rows.length, looks };
    const statement = compile(planHistory(fields, entity, context, place), { maxResponseBytes });
    const results = await runRead(context, statement, { principal }, 'write');
    const events = results.slice(0, -1);
    const end = results.at(-1) as FeedRow;
    rows.push(...events);
    if (end.view > events.length) return { rows, next: rows.at(-1)?.seq };
    if (!end.isCut) return { rows, next: undefined };
    change = end.pos ?? change;
    looked += looks;
    if (looked >= MAX_LOOKED_AT) return { rows, next: change };
    looks = Math.min(4 * looks, MAX_LOOKED_AT - looked);
  }
}
