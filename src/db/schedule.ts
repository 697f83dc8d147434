// Which connection of a lane a statement goes to, and what a connection with room runs next: where it costs least, and no
// workspace everywhere at once. Looks at connections, and sends nothing.
import type { Query } from '../sql/fragment.ts';
import type { Prepared } from './prepared.ts';
import type { Waiting, WaitingLine } from './waiting-line.ts';

/** What is looked at of a connection. */
export interface Scheduled {
  readonly prepared: Pick<Prepared, 'has' | 'isFull'>;
  /** Statements that are not answered yet, in the order in which they will be. `started`: performance.now(). */
  readonly sent: readonly { readonly waiting: Pick<Waiting, 'work'>; readonly started: number }[];
  /** What those take together, in milliseconds. */
  readonly work: number;
  /** When the last answer came. */
  readonly answeredAt: number;
  /** It has told of an error, and not yet that it goes on: its server is still busy with the end of the statement. */
  readonly ending?: object | undefined;
}

export interface ScheduleOptions {
  /** Connections that the lane may have. */
  readonly size: number;
  /** See LaneOptions. */
  readonly parallel: number;
}

/** All moments are of performance.now(), which takes half a microsecond on some machines: its callers ask once. */
export interface Schedule<C extends Scheduled> {
  /** A statement of the tenant has come: a tenant is one of several for a while after another was seen. */
  readonly seen: (tenant: string | undefined, now: number) => void;
  /** The connection where the statement costs least; undefined when it costs least to wait. */
  readonly pick: (query: Query, tenant: string | undefined, now: number) => C | undefined;
  /** Takes out of the line what a connection with room runs next; undefined when nothing in it may go there. */
  readonly nextFor: (connection: C, line: WaitingLine, now: number) => Waiting | undefined;
}

// What it costs to send a statement to a connection, in ms that it could wait elsewhere instead: to prepare it, to make
// one more backend busy, to prepare it in place of another that will be asked for again (which is more expensive than a
// further backend, or thousands of statements would all crowd the first: 0.57 instead of 0.67 of the requests over 2,000
// workspaces).
const PREPARE_MS = 0.5;
const FURTHER_MS = 5;
const REPLACE_MS = 6;
// No more is sent to a connection that has so much to do; what waits here can still go to whichever is free first.
const FULL_MS = 10;
// Nor to one whose statement at work has taken so long: it may be one that takes its whole time.
const STUCK_MS = 25;
// How many of those that wait are looked at for one that is prepared on the connection that is free.
const LOOK_AHEAD = 32;
// After so long a statement goes to the next free connection, prepared there or not.
const MAX_DETOUR_MS = 5;
// A tenant is one of several for so long after another was seen.
const COMPANY_MS = 5000;

/** True when more may be sent to the connection. */
export function hasRoom({ sent, work, answeredAt, ending }: Scheduled, now: number): boolean {
  if (ending !== undefined) return false;
  const [first] = sent;
  return first === undefined || (work < FULL_MS && now - Math.max(first.started, answeredAt) < STUCK_MS);
}

/** `connections`: those of the lane at any time. */
export function makeSchedule<C extends Scheduled>(
  connections: readonly C[],
  { size, parallel }: ScheduleOptions,
): Schedule<C> {
  let lastTenant: string | undefined;
  let companyUntil = Number.NEGATIVE_INFINITY;
  // One tenant never has more connections than these while there are others: what it may keep waiting is half.
  const perTenant = Math.max(1, Math.floor(size / 2));

  function connectionsOf(tenant: string): number {
    let count = 0;
    for (const connection of connections) if (has(connection, tenant)) count++;
    return count;
  }

  function mayHave(connection: C, tenant: string | undefined): boolean {
    return tenant === undefined || has(connection, tenant) || connectionsOf(tenant) < perTenant;
  }

  return {
    seen(tenant, now) {
      if (tenant === undefined || tenant === lastTenant) return;
      if (lastTenant !== undefined) companyUntil = now + COMPANY_MS;
      lastTenant = tenant;
    },
    pick(query, tenant, now) {
      let best: C | undefined;
      let least = Number.POSITIVE_INFINITY;
      const isBound = tenant !== undefined && now < companyUntil && connectionsOf(tenant) >= perTenant;
      for (let index = 0; index < connections.length; index++) {
        const connection = connections[index] as C;
        let price = index < parallel ? connection.work : connection.work + FURTHER_MS;
        if (price >= least) continue;
        if (query.name !== undefined && !connection.prepared.has(query)) {
          price += connection.prepared.isFull() ? REPLACE_MS : PREPARE_MS;
        }
        if (price >= least || !hasRoom(connection, now)) continue;
        if (isBound && !has(connection, tenant)) continue;
        best = connection;
        least = price;
      }
      return best;
    },
    nextFor(connection, line, now) {
      const hasCompany = now < companyUntil;
      const isFree = connection.sent.length === 0;
      return line.take(
        ({ query, work, since }) =>
          (!hasCompany || mayHave(connection, work.tenant)) &&
          (isFree || now - since > MAX_DETOUR_MS || query.name === undefined || connection.prepared.has(query)),
        // Of those who may not go there many may stand in front.
        hasCompany ? line.length : LOOK_AHEAD,
      );
    },
  };
}

function has({ sent }: Scheduled, tenant: string): boolean {
  return sent.some(({ waiting }) => waiting.work.tenant === tenant);
}
