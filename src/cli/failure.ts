// Failures of commands as one value with kind, message and hints, and their exit codes, lines for people and documents for
// scripts. No stack ever reaches a terminal.
import { printable, renderTable } from './table.ts';

/** Mistake of a rejected request, from `error.details` of the server. */
interface FailureDetail {
  readonly row?: number;
  /** Record of an update or deletion by filter. */
  readonly id?: number;
  /** Line of the file with the mistake; of a schema file it is added by the command line. */
  readonly line?: number;
  readonly field?: string | null;
  readonly code?: string;
  readonly message?: string;
  /** Value of a file. */
  readonly value?: string;
}

/** Members of the server's `error` object that the command line reads. */
export interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly reason?: string;
  readonly details?: readonly FailureDetail[];
}

export type Failure =
  | { readonly kind: 'usage'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string; readonly details?: Readonly<Record<string, unknown>> }
  | { readonly kind: 'unreachable'; readonly message: string }
  | { readonly kind: 'drift'; readonly message: string }
  | { readonly kind: 'part'; readonly message: string }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly error: ServerError;
      readonly requestId: string | null;
    };

export class CommandFailure extends Error {
  readonly failure: Failure;
  /** Lines that say what to do next; only for people, not in the JSON document. */
  readonly hints: readonly string[];

  constructor(failure: Failure, hints: readonly string[] = [], cause?: unknown) {
    super(
      failure.kind === 'refused' ? failure.error.message : failure.message,
      cause === undefined ? undefined : { cause },
    );
    this.name = 'CommandFailure';
    this.failure = failure;
    this.hints = hints;
  }
}

/** Creates the failure of wrong arguments or a missing setting, before any request. */
export const usageFailure = (message: string, hints: readonly string[] = []): CommandFailure =>
  new CommandFailure({ kind: 'usage', message }, hints);

/** Creates the failure of the command line itself or of work on the server. */
export const runtimeFailure = (
  message: string,
  details?: Readonly<Record<string, unknown>>,
  cause?: unknown,
): CommandFailure =>
  new CommandFailure({ kind: 'failed', message, ...(details === undefined ? {} : { details }) }, [], cause);

/** Creates the failure of a connection that was not made, or was lost before the response was complete. */
export const unreachableFailure = (message: string, cause?: unknown): CommandFailure =>
  new CommandFailure({ kind: 'unreachable', message }, [], cause);

/** Creates the failure of a server that differs from a file. */
export const driftFailure = (message: string): CommandFailure => new CommandFailure({ kind: 'drift', message });

/** Creates the failure of a part of the work: some of many workspaces. */
export const partFailure = (message: string): CommandFailure => new CommandFailure({ kind: 'part', message });

/** Creates the failure of an error response. */
export const serverFailure = (
  status: number,
  error: ServerError,
  requestId: string | null,
  hints: readonly string[] = [],
): CommandFailure => new CommandFailure({ kind: 'refused', status, error, requestId }, hints);

/** Returns the exit code, part of the interface: 1 rejected or failed, 2 wrong usage, 3 server not reachable, 4 drift, 5 some of many failed. */
export function exitCode(failure: Failure): number {
  switch (failure.kind) {
    case 'refused':
    case 'failed':
      return 1;
    case 'usage':
      return 2;
    case 'unreachable':
      return 3;
    case 'drift':
      return 4;
    case 'part':
      return 5;
    default:
      return failure satisfies never;
  }
}

/** Formats a failure for people: message, one line per detail (a table for imports), hints. */
export function describeFailure({ failure, hints }: CommandFailure): string {
  const head =
    failure.kind === 'refused'
      ? `Error: ${failure.error.message} (${failure.status} ${failure.error.code})`
      : `Error: ${failure.message}`;
  const details = failure.kind === 'refused' ? describeDetails(failure.error.details ?? []) : [];
  const trace =
    failure.kind === 'refused' && failure.status >= 500 && failure.requestId !== null
      ? [`Request id: ${failure.requestId}`]
      : [];
  return [printable(head), ...details, ...trace.map(printable), ...hints.map(printable)].join('\n');
}

/** Returns a failure for scripts: the server's own `error` object if there is one. */
export function failureDocument({ failure }: CommandFailure): Readonly<Record<string, unknown>> {
  switch (failure.kind) {
    case 'refused':
      return { error: failure.error, status: failure.status, requestId: failure.requestId };
    case 'failed':
      return { error: { code: 'FAILED', message: failure.message, ...(failure.details ?? {}) } };
    case 'usage':
      return { error: { code: 'USAGE', message: failure.message } };
    case 'unreachable':
      return { error: { code: 'UNREACHABLE', message: failure.message } };
    case 'drift':
      return { error: { code: 'DRIFT', message: failure.message } };
    case 'part':
      return { error: { code: 'PARTLY_FAILED', message: failure.message } };
    default:
      return failure satisfies never;
  }
}

/** Converts any error to a failure; an unexpected error keeps only its message. */
export function toFailure(thrown: unknown): CommandFailure {
  if (thrown instanceof CommandFailure) return thrown;
  return runtimeFailure(thrown instanceof Error ? thrown.message : String(thrown), undefined, thrown);
}

// Characters of a value in a table.
const VALUE_CHARACTERS = 40;

function describeDetails(details: readonly FailureDetail[]): readonly string[] {
  if (details.some((detail) => detail.row !== undefined)) {
    const rows = details.map(({ row, line, field, code, value, message }) => {
      const cut =
        value !== undefined && value.length > VALUE_CHARACTERS ? `${value.slice(0, VALUE_CHARACTERS)}…` : value;
      return [row, line, field, code, cut, message];
    });
    return ['', renderTable(['ROW', 'LINE', 'FIELD', 'CODE', 'VALUE', 'REASON'], rows, ['ROW', 'LINE']), ''];
  }
  return details.map((detail) => `  ${printable(describeDetail(detail))}`);
}

/** Formats `line 3, entities.orders: REQUIRED message`, without missing parts. */
function describeDetail(detail: FailureDetail): string {
  const location = [
    ...(detail.line === undefined ? [] : [`line ${detail.line}`]),
    ...(detail.id === undefined ? [] : [`id ${detail.id}`]),
    ...(detail.field === undefined || detail.field === null || detail.field === '' ? [] : [detail.field]),
  ].join(', ');
  const text = [detail.code, detail.message].filter((part) => part !== undefined).join(' ');
  return location === '' ? text : `${location}: ${text}`;
}
