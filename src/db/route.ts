// The ways to a database: to PostgreSQL itself, and for requests perhaps through a pooler.
import type pg from 'pg';
import { addressOf, type DatabaseHost } from './connection-url.ts';

/**
 * What stands between us and PostgreSQL. `session`: a pooler that takes no start-up options, and gives a connection its
 * backend until it ends. `transaction`: one that gives it a backend for each transaction.
 */
export type Pooler = 'none' | 'session' | 'transaction';

/** What the driver needs to know, and what stands in between (nothing, by default). */
export interface Route extends pg.ClientConfig {
  readonly pooler?: Pooler;
}

/** The same database on another server: with the same credentials and settings. */
export function routeTo(route: Route, host: DatabaseHost): Route {
  const { config, options } = addressOf(route);
  return { ...config, host: host.host, port: host.port, ...(options === undefined ? {} : { options }) };
}

/** The two are one but for a pooler in transaction mode. */
export interface Routes {
  /** For requests: transactions that need nothing of a session. */
  readonly connection: Route;
  /** For what needs a connection that is its own. */
  readonly direct: Route;
}
