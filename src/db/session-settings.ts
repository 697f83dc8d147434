// The settings that all statements rely on, in the three ways in which a connection can be told of them: when it starts, by a
// statement when it is open, and at the begin of each transaction, as behind a pooler the next one may meet another backend.
import type { Query } from '../sql/fragment.ts';

/** How long statements may take, and wait for a lock; 0: without end. */
export interface TimeLimits {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

type Settings = Readonly<Record<string, string>>;

const IDLE_IN_TRANSACTION_MS = 15_000;

/** Those on which it depends what is stored and what is told, wherever a statement is run. */
export const MEANING: Settings = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  extra_float_digits: '1',
  synchronous_commit: 'on',
};

const CONSTANT: Settings = {
  ...MEANING,
  search_path: 'pg_catalog',
  // A warning tells that a write is on no standby.
  client_min_messages: 'notice',
};

// These change no answer.
const HELPFUL: Settings = {
  idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
  // Lists and expansions are index look-ups with a small limit; compiling them costs more than running them.
  jit: 'off',
};

/** What a connection must confirm before it is used, by names of pg_settings. */
export const requiredSettings = ({ statementTimeoutMs, lockTimeoutMs }: TimeLimits): Settings => ({
  ...CONSTANT,
  statement_timeout: String(statementTimeoutMs),
  lock_timeout: String(lockTimeoutMs),
});

const allSettings = (limits: TimeLimits): Settings => ({ ...requiredSettings(limits), ...HELPFUL });

/** The start-up parameter `options`; `own`: what the URL asks for, which gives way to ours. */
export function startupOptions(limits: TimeLimits, own: string | undefined): string {
  return [
    ...(own === undefined ? [] : [own]),
    ...Object.entries(allSettings(limits)).map(([name, value]) => `-c ${name}=${value.replace(' ', '\\ ')}`),
    '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000',
  ].join(' ');
}

/** Sets them for a session: for one that has its backend to itself. */
export function sessionSettings(limits: TimeLimits): Query {
  const settings = allSettings(limits);
  return {
    text: 'select set_config(name, value, false) from unnest($1::text[], $2::text[]) s (name, value)',
    values: [Object.keys(settings), Object.values(settings)],
  };
}

/** How a transaction begins on a connection whose backend belongs to it no longer than that. */
export interface Opening {
  /** Precedes a statement that is a transaction by itself. */
  readonly query: Query;
  /** Follows `begin`. Takes no snapshot, as a query would. */
  readonly text: string;
}

/**
 * Measured on PostgreSQL 15: 15 to 25 µs of the backend's processor time for each transaction. Settings of the role would
 * save 5 to 10 of them, and would not hold on backends that the pooler has opened before.
 */
export function openingOf(limits: TimeLimits): Opening {
  const settings = Object.entries(allSettings(limits));
  return {
    query: {
      name: 'opening',
      text: `select ${settings.map(([name], index) => `set_config('${name}', $${index + 1}, true)`).join(', ')}`,
      values: settings.map(([, value]) => value),
    },
    text: settings.map(([name, value]) => `set local ${name} = '${value}'`).join('; '),
  };
}
