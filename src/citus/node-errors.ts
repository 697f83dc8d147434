// Errors of a coordinator of Citus about a node of its cluster that it has lost. Our connection to the coordinator goes on,
// and so do the statements of others on it.

import type { ClusterDialect } from '../database/cluster-dialect.ts';
import { type DatabaseError, getSqlState } from '../database/errors.ts';

interface ReportedError {
  readonly code: string;
  readonly message: string;
  /** The function that raised it, by which errors of Citus are known: their words are free text. */
  readonly routine: string;
}

// Of src/backend/distributed: connection/remote_commands.c, transaction/remote_transaction.c.
const LOSSES = ['ReportConnectionError', 'MarkRemoteTransactionFailed', 'ErrorIfPostCommitFailedShardPlacements'];

// Words of libpq and of a server that takes no sessions: the statement was not sent.
const NOT_CONNECTED =
  /Connection refused|Is the server running|No route to host|Network is unreachable|could not translate host name|the database system is/;

// Words of libpq on a connection that went while the node had a statement: nothing of this comes from a server.
const CUT_OFF =
  /^(server closed the connection|could not (receive data from|send data to) server|SSL (SYSCALL )?error|no connection to the server|connection not open|lost synchronization)/i;

function parseReportedError(error: unknown): ReportedError | undefined {
  const { code, message, routine } = (error ?? {}) as Partial<ReportedError>;
  if (typeof code !== 'string' || typeof message !== 'string' || typeof routine !== 'string') return undefined;
  // What a node itself has said is passed on with its own state.
  const isPassedOn =
    routine === 'ReportResultError' && (/^(08|57P0[123])/.test(code) || (code === 'XX000' && CUT_OFF.test(message)));
  // Before a move (operations/shard_transfer.c), also by a connection that was lost before.
  const isUnmeasured = routine === 'CheckSpaceConstraints' && /^Could not fetch disk stats/i.test(message);
  return LOSSES.includes(routine) || isPassedOn || isUnmeasured ? { code, message, routine } : undefined;
}

/**
 * A cancelling came between the coordinator and a connection that it keeps to a node: each change of a schema fails on it from then
 * on, until the coordinator's own session ends.
 */
function isSessionBroken(error: unknown): boolean {
  const { code, message, routine } = (error ?? {}) as Partial<ReportedError>;
  return code === '55000' && routine === 'ReportResultError' && /distributed transaction/.test(message ?? '');
}

const isLoss = (error: unknown): boolean => parseReportedError(error) !== undefined;

/** True when a write that met this may have been done: the node was lost behind it, or at its COMMIT. */
function isOutcomeUnknown(error: unknown): boolean {
  const loss = parseReportedError(error);
  if (loss === undefined || ['MarkRemoteTransactionFailed', 'CheckSpaceConstraints'].includes(loss.routine))
    return false;
  return !NOT_CONNECTED.test(loss.message);
}

/** `host:port` of the node; undefined when the error does not name it. */
const findLostNode = (error: unknown): string | undefined =>
  /(?:remote node|marked as essential:?) (?:[^@\s]*@)?([^\s@]+:\d+)/.exec(
    parseReportedError(error)?.message ?? '',
  )?.[1];

/** An insert whose table has a default that tells the time and that it does not name (statement-forms.ts). */
const isStaleRewrite = (error: unknown): boolean =>
  getSqlState(error) === '42601' && (error as DatabaseError).where?.startsWith('while executing command on') === true;

/**
 * What a transaction sets holds on the nodes with the tables, too. Citus passes on the whole message that a setting stands in,
 * so each of them is sent alone.
 */
const beginStatement = "begin; set local citus.propagate_set_commands = 'local'";

export const CITUS_DIALECT: ClusterDialect = {
  isLoss,
  isOutcomeUnknown,
  isSessionBroken,
  isStaleRewrite,
  findLostNode,
  beginStatement,
};
