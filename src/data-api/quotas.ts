// Limits of workspaces, and their use. A write that adds records reserves them until its request has ended: what is stored
// by the last measurement, what was added since then and what is under way never exceed the limit by the writes of one
// process. Several processes see each other's records within two seconds.
import { LRUCache } from 'lru-cache';
import { quotaExceeded } from '../errors.ts';
import type { WorkspaceRateLimit } from '../limits/rate-limit.ts';
import type { Metric } from '../metric.ts';
import type { Entity } from '../model/entity.ts';
import type { LimitName } from '../model/limits.ts';
import { getUnrestricted } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import type { Databases } from '../store/databases.ts';
import { addRequests, measureUsage, type Usage } from '../store/usage.ts';

/** A request of records, by which its reservations are found. */
type RequestKey = object;

/** Where a write is done. */
interface Place {
  readonly workspace: Workspace;
  readonly request: RequestKey;
}

export interface Quotas {
  /** Counts a request of the workspace; 429 beyond its limit. */
  readonly countRequest: (workspace: Workspace) => Promise<void>;
  /** Reserves records that are about to be added; 403 when they, or the bytes of the workspace, exceed a limit. */
  readonly reserve: (place: Place, records: number) => Promise<void>;
  /** Does the same after the records were written in a transaction that has not ended, with the bytes that they take. */
  readonly confirm: (place: Place, records: number) => Promise<void>;
  /**
   * Reserves records of which some may exist already. Returns undefined, or, when not all of them may be added, the check
   * of the number that was added: 403 if it is too great.
   */
  readonly reserveUpsert: (place: Place, records: number) => Promise<((added: number) => void) | undefined>;
  /** Ends the reservations of a request. `isWritten`: whether it has changed anything. */
  readonly release: (place: Place, isWritten: boolean) => void;
  /** Measures a workspace, unless that was done within a second. */
  readonly measure: (workspace: Workspace) => Promise<Usage>;
  /** Stores the requests that were counted. */
  readonly flush: () => Promise<void>;
  readonly metrics: readonly Metric[];
}

/** Limits for operations that add records. */
export type WriteQuotas = Pick<Quotas, 'reserve' | 'confirm' | 'reserveUpsert'>;

export interface QuotaDeps {
  readonly databases: Databases;
  readonly rateLimit: WorkspaceRateLimit;
  readonly keepTotal: (entity: Entity) => void;
  /** Milliseconds. */
  readonly now: () => number;
}

type Exceeded = readonly [name: 'maxRecords' | 'maxBytes', limit: number, used: number];

/** Measurement of a workspace, and what was added since then. */
interface Meter {
  usage: Usage | undefined;
  /** Start of the last measurement. */
  measuredAt: number;
  /** Records that requests have added which ended after the start of the measurement. */
  added: number;
  /** Records that requests under way may add. */
  reserved: number;
  /** Whether a request has changed anything since then. */
  isChanged: boolean;
  running: Promise<void> | undefined;
}

const NEW_METER: Meter = {
  usage: undefined,
  measuredAt: Number.NEGATIVE_INFINITY,
  added: 0,
  reserved: 0,
  isChanged: false,
  running: undefined,
};

const MAX_METERS = 10_000;
const FRESH_MS = 1000;
// While there is room, a measurement of this age is used, and replaced in the background.
const MAX_AGE_MS = 2000;
const MAX_IDLE_MS = 30_000;
// Share of a limit from which on a measurement must be fresh.
const NEARLY_FULL = 0.9;
// Workspaces that have a label of their own in metrics.
const MAX_LABELS = 100;
const OTHERS = 'other';
// Workspaces in one statement.
const MAX_FLUSHED = 1000;

/** Makes the limits of this process. */
export function makeQuotas(deps: QuotaDeps): Quotas {
  const labels = makeLabels();
  const refusals: Record<LimitName, number> = { maxRecords: 0, maxBytes: 0, maxRequestsPerMinute: 0 };
  const { requests, ...counter } = makeRequestCounter(deps, labels, () => refusals.maxRequestsPerMinute++);
  const { tryReserve, addIfFits, getMeter, measureAgain, isRecent, release, readUsage } = makeMeters(deps, labels);

  function refuse(exceeded: Exceeded | undefined): void {
    if (exceeded === undefined) return;
    const [name, limit, used] = exceeded;
    refusals[name]++;
    throw quotaExceeded(name, limit, used);
  }

  return {
    ...counter,
    release,
    async reserve(place, records) {
      if (hasLimit(place.workspace) && records > 0) refuse(await tryReserve(place, records));
    },
    async confirm(place, records) {
      const { workspace } = place;
      if (!hasLimit(workspace) || records === 0) return;
      const meter = getMeter(workspace);
      await measureAgain(meter, workspace);
      refuse(addIfFits(place, meter, records));
    },
    async reserveUpsert(place, records) {
      const { workspace } = place;
      if (!hasLimit(workspace) || (await tryReserve(place, records)) === undefined) return undefined;
      return (added) => {
        if (added > 0) refuse(addIfFits(place, getMeter(workspace), added));
      };
    },
    async measure(workspace) {
      const meter = getMeter(workspace);
      if (!isRecent(meter)) await measureAgain(meter, workspace);
      return meter.usage as unknown as Usage;
    },
    metrics: [
      {
        name: 'wda_quota_refusals_total',
        help: 'Requests that were refused because of a limit of their workspace',
        label: 'limit',
        read: () => refusals,
      },
      {
        name: 'wda_workspace_requests_total',
        help: 'Requests by workspace, for the first 100 workspaces since the start of the process',
        label: 'workspace',
        read: () => requests,
      },
      {
        name: 'wda_workspace_records',
        help: 'Records of workspaces with limits, as measured last, for the first 100 workspaces',
        label: 'workspace',
        aggregator: 'max',
        read: () => readUsage('records'),
      },
      {
        name: 'wda_workspace_bytes',
        help: 'Bytes on disk of workspaces with limits, as measured last, for the first 100 workspaces',
        label: 'workspace',
        aggregator: 'max',
        read: () => readUsage('bytes'),
      },
    ],
  };
}

const hasLimit = ({ limits }: Workspace): boolean => limits.maxRecords !== null || limits.maxBytes !== null;

interface Labels {
  readonly get: (workspace: Workspace) => string;
  readonly entries: () => Iterable<readonly [workspaceId: string, label: string]>;
}

/** Makes the labels of metrics, whose number is limited. */
function makeLabels(): Labels {
  const labels = new Map<string, string>();
  return {
    get({ id, organization, slug }) {
      if (!labels.has(id) && labels.size < MAX_LABELS) labels.set(id, `${organization}/${slug}`);
      return labels.get(id) ?? OTHERS;
    },
    entries: () => labels,
  };
}

/* ---- requests ---- */

function makeRequestCounter(
  { databases, rateLimit }: Pick<QuotaDeps, 'databases' | 'rateLimit'>,
  labels: Labels,
  onRefusal: () => void,
) {
  let unstored = new Map<string, number>();
  const requests: Record<string, number> = {};
  return {
    /** Numbers of requests by label. */
    requests,
    async countRequest(workspace: Workspace): Promise<void> {
      const { maxRequestsPerMinute } = workspace.limits;
      if (maxRequestsPerMinute !== null) {
        await rateLimit(workspace.id, maxRequestsPerMinute).catch((error) => {
          onRefusal();
          throw error;
        });
      }
      unstored.set(workspace.id, (unstored.get(workspace.id) ?? 0) + 1);
      const label = labels.get(workspace);
      requests[label] = (requests[label] ?? 0) + 1;
    },
    async flush(): Promise<void> {
      const counts = [...unstored];
      unstored = new Map();
      for (let at = 0; at < counts.length; at += MAX_FLUSHED) {
        try {
          await addRequests(databases.directory, new Map(counts.slice(at, at + MAX_FLUSHED)));
        } catch (error) {
          for (const [id, count] of counts.slice(at)) unstored.set(id, (unstored.get(id) ?? 0) + count);
          throw error;
        }
      }
    },
  };
}

/* ---- records and bytes ---- */

function makeMeters({ databases, keepTotal, now }: Omit<QuotaDeps, 'rateLimit'>, labels: Labels) {
  const meters = new LRUCache<string, Meter>({ max: MAX_METERS });
  const reservations = new WeakMap<RequestKey, number>();

  function getMeter({ id }: Workspace): Meter {
    const meter = meters.get(id) ?? { ...NEW_METER };
    meters.set(id, meter);
    return meter;
  }

  /** Measures the workspace; one measurement at a time. */
  function measure(meter: Meter, workspace: Workspace): Promise<void> {
    meter.running ??= run(meter, workspace).finally(() => {
      meter.running = undefined;
    });
    return meter.running;
  }

  async function run(meter: Meter, workspace: Workspace): Promise<void> {
    const startedAt = now();
    const addedBefore = meter.added;
    meter.isChanged = false;
    const isContinued = startedAt - meter.measuredAt < MAX_IDLE_MS;
    const addedTo = isContinued ? (meter.usage?.records ?? 0) + addedBefore : 0;
    // The principal may reach some entities alone, and the limit is of the records of all.
    const usage = await measureUsage(databases, getUnrestricted(workspace), keepTotal);
    meter.usage = { ...usage, records: usage.exact ? usage.records : Math.max(usage.records, addedTo) };
    meter.measuredAt = startedAt;
    meter.added -= addedBefore;
  }

  /** Measures after the running measurement, which may have started before the last change. */
  async function measureAgain(meter: Meter, workspace: Workspace): Promise<void> {
    await meter.running;
    await measure(meter, workspace);
  }

  /** Reserves the records; returns the limit that they would exceed instead, by a measurement that is new enough. */
  async function tryReserve(place: Place, records: number): Promise<Exceeded | undefined> {
    const { workspace } = place;
    const meter = getMeter(workspace);
    const age = (): number => now() - meter.measuredAt;
    const isUsable = age() < (isNearlyFull(workspace, meter, records) ? FRESH_MS : MAX_IDLE_MS);
    if (meter.usage === undefined || !isUsable) await measure(meter, workspace);
    else if (age() > MAX_AGE_MS) void measure(meter, workspace).catch(() => undefined);
    // Deletes, and writes that failed, make room at once.
    if (findExceeded(workspace, meter, records) !== undefined && (meter.isChanged || age() > FRESH_MS))
      await measureAgain(meter, workspace);
    return addIfFits(place, meter, records);
  }

  /** Compares and reserves without a pause, so that requests at the same time do not fill the same room. */
  function addIfFits(place: Place, meter: Meter, records: number): Exceeded | undefined {
    const exceeded = findExceeded(place.workspace, meter, records);
    if (exceeded === undefined) {
      meter.reserved += records;
      reservations.set(place.request, (reservations.get(place.request) ?? 0) + records);
    }
    return exceeded;
  }

  function release({ workspace, request }: Place, isWritten: boolean): void {
    const meter = meters.get(workspace.id);
    const records = reservations.get(request) ?? 0;
    reservations.delete(request);
    if (meter === undefined) return;
    meter.reserved = Math.max(0, meter.reserved - records);
    if (!isWritten) return;
    meter.added += records;
    meter.isChanged = true;
  }

  return {
    getMeter,
    measureAgain,
    tryReserve,
    addIfFits,
    release,
    isRecent: (meter: Meter): boolean =>
      meter.usage !== undefined && !meter.isChanged && now() - meter.measuredAt < FRESH_MS,
    readUsage: (kind: 'records' | 'bytes'): Record<string, number> =>
      Object.fromEntries(
        [...labels.entries()].flatMap(([id, label]) => {
          const usage = meters.peek(id)?.usage;
          return usage === undefined ? [] : [[label, usage[kind]]];
        }),
      ),
  };
}

/** Returns the limit that `records` more would exceed. */
function findExceeded(
  { limits: { maxRecords, maxBytes } }: Workspace,
  { usage, added, reserved }: Meter,
  records: number,
): Exceeded | undefined {
  if (usage === undefined) return undefined;
  const used = usage.records + added + reserved;
  if (maxRecords !== null && used + records > maxRecords) return ['maxRecords', maxRecords, used];
  if (maxBytes !== null && usage.bytes >= maxBytes) return ['maxBytes', maxBytes, usage.bytes];
  return undefined;
}

function isNearlyFull({ limits: { maxRecords, maxBytes } }: Workspace, meter: Meter, records: number): boolean {
  const { usage = { records: 0, bytes: 0 }, added, reserved } = meter;
  return (
    usage.records + added + reserved + records > NEARLY_FULL * (maxRecords ?? Number.POSITIVE_INFINITY) ||
    usage.bytes > NEARLY_FULL * (maxBytes ?? Number.POSITIVE_INFINITY)
  );
}
