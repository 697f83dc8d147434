// Creates the handlers of the operations on entities, and executes a call: authorization, handler, and again with a newer
// snapshot where retry.ts says so.

import type { OperationName } from '../request/operations.ts';
import type { Reply } from '../response/reply.ts';
import type { CommonWords } from '../workspace-schema/common-words.ts';
import type { Totals } from '../workspace-schema/totals.ts';
import { aggregate, summarize } from './aggregate.ts';
import { bulkCreate, bulkDelete, bulkDeleteListed, bulkUpdate, type WriteManyDeps } from './bulk.ts';
import { type AuthenticationDeps, authorize, type EntityContext, type RequestContext } from './context.ts';
import { exportRecords } from './export/export.ts';
import type { FeedDeps } from './feed.ts';
import { makeLoadSeals } from './feed-cursor.ts';
import { type GrantedContext, isLimited, removeGranted, updateGranted } from './granted.ts';
import { createOrUpsert } from './granted-upsert.ts';
import { answerHistory, answerHistoryEntry, forgetHistory, type HistoryDeps } from './history.ts';
import type { IdempotencyDeps } from './idempotency.ts';
import { importRecords } from './import/import.ts';
import { writeLinked } from './linked-writes.ts';
import { deleteWhere, updateWhere, writeJobBatch } from './matching.ts';
import { makePreparedStatements } from './prepared.ts';
import type { Quotas } from './quotas.ts';
import { list, query, type ReadDeps, read } from './reads.ts';
import { restore } from './restore.ts';
import { makeSnapshotRetry, type SnapshotRetry } from './retry.ts';
import type { ExecuteCall, TransactionDeps } from './transaction.ts';
import { makeTakePermit, type TransferDeps } from './transfer.ts';
import type { WriteJobWorkerDeps } from './write-job-worker.ts';
import { create, remove, update } from './writes.ts';

export interface OperationDeps extends Pick<TransactionDeps, 'config' | 'databases'> {
  readonly cache: AuthenticationDeps['cache'];
  readonly totals: Pick<Totals, 'maintain'>;
  readonly commonWords: CommonWords;
  readonly quotas: Quotas;
  readonly keys: IdempotencyDeps['keys'];
  /** Returns the secret that seals cursors of feeds. */
  readonly feedSecret: () => Promise<string>;
}

export interface Operations {
  readonly execute: ExecuteCall;
  readonly retry: SnapshotRetry;
  readonly seals: FeedDeps['seals'];
  readonly writeBatch: WriteJobWorkerDeps['writeBatch'];
}

type Handler = (context: EntityContext) => Promise<Reply>;

/** Creates the operations on entities, for external and internal calls. */
export function makeOperations(deps: OperationDeps): Operations {
  const seals = makeLoadSeals(deps.feedSecret);
  const compileOptions = { maxResponseBytes: deps.config.maxResponseBytes };
  const recordDeps: ReadDeps & WriteManyDeps & HistoryDeps = {
    ...deps,
    seals,
    compileOptions,
    prepared: makePreparedStatements(compileOptions),
  };
  const transfer: TransferDeps = { ...deps, ...recordDeps, takePermit: makeTakePermit(deps.config) };
  const retry = makeSnapshotRetry(deps.cache);
  const linked =
    (write: Handler): Handler =>
    (context) =>
      writeLinked(recordDeps, context, write);
  const handlers: Readonly<Record<OperationName, Handler>> = {
    list: (context) => list(recordDeps, context),
    query: (context) => query(recordDeps, context),
    aggregate: (context) => aggregate(recordDeps, context),
    summarize: (context) => summarize(recordDeps, context),
    read: (context) => read(recordDeps, context),
    create: linked((context) =>
      isLimited(context) ? createOrUpsert(recordDeps, context) : create(recordDeps, context),
    ),
    update: linked((context) => (isLimited(context) ? updateGranted : update)(recordDeps, context as GrantedContext)),
    delete: (context) => (isLimited(context) ? removeGranted : remove)(recordDeps, context as GrantedContext),
    bulkCreate: linked((context) => bulkCreate(recordDeps, context)),
    bulkUpdate: linked((context) => bulkUpdate(recordDeps, context)),
    bulkDelete: (context) => bulkDelete(recordDeps, context),
    bulkDeleteListed: (context) => bulkDeleteListed(recordDeps, context),
    updateWhere: (context) => updateWhere(recordDeps, context),
    deleteWhere: (context) => deleteWhere(recordDeps, context),
    import: (context) => importRecords(transfer, context),
    export: (context) => exportRecords(transfer, context),
    history: (context) => answerHistory(recordDeps, context),
    restore: (context) => restore({ ...deps, ...recordDeps }, context),
    forget: (context) => forgetHistory(recordDeps, context),
    historyEntry: (context) => answerHistoryEntry(recordDeps, context),
    changes: () => Promise.reject(new TypeError('the feed of an entity is answered without its context')),
  };
  return {
    retry,
    seals,
    async writeBatch(context, call, executor, batch) {
      const written = writeJobBatch(recordDeps, authorize(deps, context, call, executor, undefined), batch);
      releaseAfter(deps.quotas, written, context);
      return written;
    },
    // Authorizes within the retry, since a newer snapshot may have other rights, entities and gates.
    execute: (context, call, executor, key) =>
      retry.run(context, { call, executor }, (current) =>
        handlers[call.operation](authorize(deps, current, call, executor, key)),
      ),
  };
}

/** Ends what a write has reserved when it has ended. */
export function releaseAfter(quotas: Quotas, write: Promise<unknown>, context: RequestContext): void {
  void write.then(
    () => quotas.release(context, true),
    () => quotas.release(context, false),
  );
}
