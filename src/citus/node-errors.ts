// Classifies errors of a Citus coordinator about a lost node of its cluster. Our connection to the coordinator
// survives, and so do other statements on it.

import type { ClusterDialect } from '../database/cluster-dialect.ts';
import { type DatabaseError, getSqlState } from '../database/errors.ts';

interface ReportedError {
  readonly code: string;
  readonly message: string;
  /** Function that raised the error and identifies errors of Citus, whose messages are free text. */
  readonly routine: string;
}

// Functions in src/backend/distributed: connection/remote_commands.c, transaction/remote_transaction.c.
const LOSSES = ['ReportConnectionError', 'MarkRemoteTransactionFailed', 'ErrorIfPostCommitFailedShardPlacements'];

// Messages of libpq and of a server that accepts no sessions: the statement was not sent.
const NOT_CONNECTED =
  /Connection refused|Is the server running|No route to host|Network is unreachable|could not translate host name|the database system is/;

// Messages of libpq about a connection that broke during a statement; a server sends none of them.
const CUT_OFF =
  /^(server closed the connection|could not (receive data from|send data to) server|SSL (SYSCALL )?error|no connection to the server|connection not open|lost synchronization)/i;

function parseReportedError(error: unknown): ReportedError | undefined {
  const { code, message, routine } = (error ?? {}) as Partial<ReportedError>;
  if (typeof code !== 'string' || typeof message !== 'string' || typeof routine !== 'string') return undefined;
  // Errors that a node itself reported keep their own SQLSTATE.
  const isPassedOn =
    routine === 'ReportResultError' && (/^(08|57P0[123])/.test(code) || (code === 'XX000' && CUT_OFF.test(message)));
  // Error before a move (operations/shard_transfer.c), also due to a connection that was lost before.
  const isUnmeasured = routine === 'CheckSpaceConstraints' && /^Could not fetch disk stats/i.test(message);
  return LOSSES.includes(routine) || isPassedOn || isUnmeasured ? { code, message, routine } : undefined;
}

/**
 * True when a cancellation broke a cached connection of the coordinator to a node: each change of a schema fails on it
 * until the session on the coordinator ends.
 */
function isSessionBroken(error: unknown): boolean {
  const { code, message, routine } = (error ?? {}) as Partial<ReportedError>;
  return code === '55000' && routine === 'ReportResultError' && /distributed transaction/.test(message ?? '');
}

const isLoss = (error: unknown): boolean => parseReportedError(error) !== undefined;

/** True when a write with this error may be applied: the node was lost after it, or at its COMMIT. */
function isOutcomeUnknown(error: unknown): boolean {
  const loss = parseReportedError(error);
  if (loss === undefined || ['MarkRemoteTransactionFailed', 'CheckSpaceConstraints'].includes(loss.routine))
    return false;
  return !NOT_CONNECTED.test(loss.message);
}

/** Returns the node (`host:port`), or undefined if the error does not name it. */
const findLostNode = (error: unknown): string | undefined =>
  /(?:remote node|marked as essential:?) (?:[^@\s]*@)?([^\s@]+:\d+)/.exec(
    parseReportedError(error)?.message ?? '',
  )?.[1];

/** True for an insert that omits a column whose default is the current time (statement-forms.ts). */
const isStaleRewrite = (error: unknown): boolean =>
  getSqlState(error) === '42601' && (error as DatabaseError).where?.startsWith('while executing command on') === true;

/**
 * Starts a transaction whose settings also apply on the nodes with the tables. Citus propagates the whole message that
 * contains a setting, so each of them is sent alone.
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
