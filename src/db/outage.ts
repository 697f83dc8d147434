// Why the database cannot be used at the moment: for the log with all that is known, for /readyz in words that name no
// host, and whether waiting helps. Passwords are in neither: no message of the driver or of PostgreSQL holds one.
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import { UnfitConnection } from './connect.ts';
import { InstallError } from './install.ts';

export { UnfitConnection } from './connect.ts';

export interface Outage {
  /** It may be over by itself: the database starts, moves, or is out of reach. Otherwise it cannot be used as it is set up. */
  readonly isPassing: boolean;
  /** Follows "The database cannot be used: ". */
  readonly words: string;
  /** Messages as they came, with addresses. */
  readonly detail: string;
}

// The first that fits counts. PostgreSQL documentation, appendix A, has the states.
const CAUSES: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^ECONNREFUSED$|^ENOENT$/, 'nothing listens at its address'],
  [/^ENOTFOUND$|^EAI_/, 'the name of its host is not known'],
  [/^(EHOST|ENET)(UNREACH|DOWN)$/, 'there is no way to its host'],
  [/^ETIMEDOUT$/, 'it does not answer in time'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE)$|^08(?!P01)/, 'the connection broke'],
  [/^57P03$/, 'it is starting up, shutting down or recovering'],
  [/^57P0/, 'it is being shut down'],
  [/^25006$/, 'it takes no writes: it is a standby, or set to read-only'],
  [/^53300$/, 'it has no free connection'],
  [/^53100$/, 'its disk is full'],
  [/^53200$/, 'it has too little memory'],
  [/^28/, 'it refuses the user or the password'],
  [/^3D000$/, 'there is no database of that name'],
  [/^08P01$/, 'it, or a pooler in front of it, refuses the way we speak to it'],
  [/^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_|ERR_SSL_)/, 'its certificate cannot be trusted'],
];

/** What an error of connecting to the database, or of the first statements there, says about it. */
export function outageOf(error: unknown): Outage {
  const roots = rootsOf(error);
  const codes = roots.map(codeOf);
  const details = [...new Set(roots.map(messageOf))].join('; ');
  const unfit = roots.find((root) => root instanceof UnfitConnection);
  // A pooler or a standby is put right, or replaced, without a word to us.
  if (unfit instanceof Error) return { isPassing: true, words: lowerFirst(unfit.message), detail: details };
  const found = CAUSES.find(([pattern]) => codes.some((code) => pattern.test(code)));
  const late = /timeout|in time/i.test(details) ? 'it does not answer in time' : undefined;
  const broken = /terminated|ended|not queryable/i.test(details) ? 'the connection broke' : undefined;
  return {
    isPassing: isRefusal(error) || roots.some(isPassing),
    words: found?.[1] ?? late ?? broken ?? 'the log of the server says why',
    detail: details,
  };
}

const RETRY_MS = 1000;

export interface Patience {
  /** Takes each outage that is waited for. */
  readonly onOutage: (outage: Outage) => void;
  /** True when nobody waits any more: the next failure is thrown. */
  readonly isGivenUp: () => boolean;
}

/**
 * Runs `work` until it succeeds, each second while the database is away. Throws what waiting does not help against: an
 * InstallError, a refused login, any failure that says nothing of the database.
 */
export async function untilUsable<T>(work: () => Promise<T>, { onOutage, isGivenUp }: Patience): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const outage = outageOf(error);
      if (isGivenUp() || error instanceof InstallError || !outage.isPassing) throw error;
      onOutage(outage);
      await sleep(RETRY_MS);
    }
  }
}

const isRefusal = (error: unknown): boolean => error instanceof ApiError && error.code === 'SERVICE_UNAVAILABLE';

function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return (
    // A login that is refused may be mended, too, but whoever runs the server should know of it.
    /^(08|25006|40|53|55P03|57P|58)/.test(code) ||
    (/^E[A-Z]+(_[A-Z]+)?$/.test(code) && !code.startsWith('ERR_')) ||
    /terminated|timeout|ended/i.test(messageOf(error))
  );
}

/** What was thrown first: a refusal of ours and a list of attempts stand for what they hold. */
function rootsOf(error: unknown): readonly unknown[] {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.flatMap(rootsOf);
  if (error instanceof Error && error.cause !== undefined) return rootsOf(error.cause);
  return [error];
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null | undefined)?.code ?? '');

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
