// Answers the history of a record: what happened to it, the last change first, and the record as it was.
import { forbidden, notFound, recordNotFound, responseTooLarge } from '../errors.ts';
import { mayAdminister } from '../model/principal.ts';
import { planHistory } from '../plan/feed.ts';
import type { FeedRow } from '../plan/result.ts';
import { parseId } from '../request/call.ts';
import { type HistoryRequest, parseHistoryRequest } from '../request/history-request.ts';
import { parseParameters } from '../request/query-string.ts';
import { formatEvent } from '../response/feed.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import { redactHistory, selectHistoryStart } from '../sql/feed.ts';
import { insertActivity, loadActor } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import { buildStatementOptions, type EntityContext } from './context.ts';
import { notCursor } from './errors.ts';
import { loadEventContext, rethrowControl } from './feed-actors.ts';
import type { FeedSeals } from './feed-cursor.ts';
import { runRead, type WriteDeps } from './reads.ts';
import { findVersion } from './writes.ts';

export interface HistoryDeps extends WriteDeps {
  readonly databases: Pick<Databases, 'directory' | 'forWorkspace'>;
}

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Answers a page of the history of a record. */
export async function answerHistory(deps: HistoryDeps, context: EntityContext): Promise<Reply> {
  const { call, workspace, principal } = context;
  const request = parseHistoryRequest(call.query);
  const seals = await deps.seals().catch(rethrowControl);
  const change = request.after === undefined ? undefined : seals.toChange(workspace.id, request.after);
  if (request.after !== undefined && change === undefined) throw notCursor();
  const page = await readHistory(deps, context, { ...request, change, isOne: false });
  const { rows, views, isCut } = page;
  const eventContext = await loadEventContext(deps.databases, { workspace, principal, views, rows, seals });
  const events = rows.map((row) => formatEvent(row, eventContext));
  const last = rows.at(-1);
  const nextCursor = isCut && last !== undefined ? seals.toEventId(workspace.id, last.seq) : null;
  const meta = JSON.stringify({ size: request.size, nextCursor, completeSince: page.completeSince });
  return jsonText(200, `{"data":[${events.join()}],"meta":${meta}}`, NO_STORE);
}

/** Answers the record as it was after an event, or before one that removed it. */
export async function answerHistoryEntry(deps: HistoryDeps, context: EntityContext): Promise<Reply> {
  const { call, workspace } = context;
  parseParameters(call.query, []);
  const seals: FeedSeals = await deps.seals().catch(rethrowControl);
  const change = seals.toChange(workspace.id, call.event ?? '');
  const { rows } = await readHistory(deps, context, { size: 1, change: change ?? '0', isOne: true, fields: undefined });
  const [row] = rows;
  const record = row?.after === true ? row.new : row?.old;
  if (row === undefined || !(row.before || row.after))
    throw notFound('EVENT_NOT_FOUND', 'The record has no such event');
  if (record === undefined || record === null) throw responseTooLarge(deps.config.maxResponseBytes);
  return jsonText(200, `{"data":${record}}`, NO_STORE);
}

/**
 * Removes the values of a record from its history; the events stay. Owners alone: 403. Noted in the activity, in the same
 * transaction.
 */
export async function forgetHistory(deps: HistoryDeps, context: EntityContext): Promise<Reply> {
  const { call, entity, principal, workspace, executor } = context;
  parseParameters(call.query, []);
  if (!mayAdminister(principal, workspace.id))
    throw forbidden('ADMIN_RIGHT_REQUIRED', 'Only an owner may remove values from a history');
  if (executor.isTransaction) throw new TypeError('values are removed from a history in a transaction of its own');
  const id = parseId(call.id);
  const plan = planHistory(undefined, entity, context, { id: id ?? '0', change: undefined, isOne: false, size: 1 });
  if (id === undefined) throw recordNotFound();
  const options = buildStatementOptions(context, 'unknown');
  const statement = redactHistory(workspace.databaseSchema, plan.views[0].scan, id);
  const hasEntries = await deps.databases.forWorkspace(workspace).transaction(
    async (session) => {
      const [row] = await session.executor.run(statement, 'write', options);
      const changes = Number(row?.[0] ?? 0);
      if (changes > 0) {
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

type HistoryPage = Pick<HistoryRequest, 'size' | 'fields'> & {
  readonly change: string | undefined;
  readonly isOne: boolean;
};

/** Reads changes of the record of the call. Throws 404 if there is neither a record that the principal sees nor an entry. */
async function readHistory(deps: HistoryDeps, context: EntityContext, { fields, ...page }: HistoryPage) {
  const { call, entity, principal, workspace } = context;
  const id = parseId(call.id);
  const plan = planHistory(fields, entity, context, { ...page, id: id ?? '0' });
  if (id === undefined) throw recordNotFound();
  const isVisible = async (): Promise<boolean> => (await findVersion(deps, context, id)) !== undefined;
  if (principal.kind === 'external' && !(await isVisible())) throw recordNotFound();
  const results = await runRead(context, compile(plan, deps.compileOptions), { principal }, 'write');
  const rows: readonly FeedRow[] = results.slice(0, -1);
  if (rows.length === 0 && page.change === undefined && !(await isVisible())) throw recordNotFound();
  const [view] = plan.views;
  const start = selectHistoryStart(workspace.databaseSchema, view.scan, deps.config.historyDays);
  const [since] = await context.executor.run(start, 'write', buildStatementOptions(context, 'quick'));
  return {
    rows,
    views: plan.views,
    isCut: (results.at(-1)?.view ?? 0) > rows.length,
    completeSince: since?.[0] ?? null,
  };
}
