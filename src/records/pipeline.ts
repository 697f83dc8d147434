// The data API, from who asks to the reply. Refusals in this order: credential (401), workspace, path and method (404, 405),
// permission (403), entity (404), migration gate (503), parameters (400), body (400).
import type { Authenticator } from '../auth/authenticate.ts';
import type { Keys } from '../beside/keys.ts';
import type { Totals } from '../beside/totals.ts';
import type { WorkspaceCache } from '../catalog/workspace-cache.ts';
import type { Config } from '../config.ts';
import type { Databases } from '../directory/databases.ts';
import { invalidCredential, methodNotAllowed, workspaceAway } from '../errors.ts';
import type { Mount } from '../http/mount.ts';
import type { RawRequest } from '../http/raw-request.ts';
import { belongsTo, narrowed, type Principal } from '../model/principal.ts';
import { wholeOf } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import { groupOf } from '../pace/admission.ts';
import type { RateLimit } from '../pace/rate-limit.ts';
import { admit } from '../plan/plan.ts';
import { parseBatchOptions } from '../request/batch.ts';
import type { Call } from '../request/call.ts';
import { parseIdempotencyKey } from '../request/idempotency.ts';
import {
  OPERATIONS,
  type OperationName,
  WORKSPACE_OPERATIONS,
  type WorkspaceOperationName,
  workspaceOperationAt,
} from '../request/operations.ts';
import { parseQueryString } from '../request/query-string.ts';
import { agentsPath, operationOf, PREFIX, RESOURCE_METADATA, segmentsOf } from '../request/record-path.ts';
import { errorReply } from '../response/error-body.ts';
import type { Reply } from '../response/reply.ts';
import { type Attempt, type Snapshots, withFreshSnapshot } from './again.ts';
import { aggregate, summarize } from './aggregates.ts';
import { byAwayNode } from './away.ts';
import { type BatchJourney, batch, replayBatch } from './batch.ts';
import { type BulkRooms, bulkCreate, bulkDelete, bulkDeleteListed, bulkUpdate } from './bulk.ts';
import { makeDescriptions } from './description.ts';
import { enter, enterAsAgent, hasChanged, uncounted, type Visitor, visitorOf } from './enter.ts';
import { makeInFlight } from './in-flight.ts';
import type { Journey } from './journey.ts';
import { fingerprintOf, type KeyedRequest, once, scopeOf } from './keyed.ts';
import { replayCall, writeKeyed } from './keyed-call.ts';
import { makeNear } from './near.ts';
import { makePreparedStatements } from './prepared.ts';
import { callOf, partsOf } from './raw-call.ts';
import { list, query, type ReadRooms, read } from './reads.ts';
import { RequestClock, type Sender, type TransferHandlers, type Visit } from './visit.ts';
import { create, remove, update } from './writes.ts';

export interface StageRooms {
  readonly config: Config;
  readonly cache: WorkspaceCache;
  readonly databases: Databases;
  readonly totals: Pick<Totals, 'keep'>;
  /** `_import` and `_export`. */
  readonly transfer: TransferHandlers;
}

/** A request of somebody who has entered, which another room answers. */
export interface Guest {
  readonly raw: RawRequest;
  readonly visitor: Visitor;
  /** Credential and workspace as they are in force now. */
  readonly again: () => Promise<Visitor>;
  readonly answerAs: AnswerAs;
  /** The same guest, who reaches no more than the entities of these ids. */
  readonly within: (ids: readonly string[]) => Guest;
}

export type WorkspaceHandler = (guest: Guest) => Promise<Reply>;

export interface RecordRooms extends StageRooms {
  /** `_mcp`. */
  readonly agents: WorkspaceHandler;
  readonly authenticator: Authenticator;
  readonly rateLimit: RateLimit;
  readonly keys: Keys;
  /** URL of the token endpoint. */
  readonly tokenUrl: string;
}

export interface Records {
  /** What answers below /api/v1/. */
  readonly mount: Mount;
  readonly answerAs: AnswerAs;
  /** Requests that are being answered: by workspace id, the oldest version that one of them was planned by. */
  readonly busy: () => ReadonlyMap<string, string>;
}

/**
 * The answer to a request for records of a principal who is known: of an agent, or of somebody whom an administrator asks
 * about.
 */
export type AnswerAs = (principal: Principal, raw: RawRequest, how?: AnswerHow) => Promise<Reply>;

interface AnswerHow {
  /** Who that is and what the workspace is now; without it the principal stays who it was. */
  readonly again?: () => Promise<Visitor>;
  /** What is asked in place of the snapshot in force: a part of it (model/workspace.ts). */
  readonly within?: (workspace: Workspace) => Workspace;
}

// For so long after a request was admitted it need not be asked whether its snapshot is still in force: the lease of a
// snapshot ends 100 ms before others stop waiting for this process (directory/presence.ts).
const TRUST_MS = 20;

/** The stages after the entrance, for calls from wherever they come. */
export interface Stages {
  /** Runs the call, and again when its snapshot turns out to be of the past and its executor is no transaction. */
  readonly travel: (journey: Journey) => Promise<Reply>;
  /** See Records. */
  readonly busy: Records['busy'];
  readonly snapshots: Snapshots;
}

type Handler = (visit: Visit) => Promise<Reply>;

export function makeRecords(rooms: RecordRooms): Records {
  const { config, cache, databases } = rooms;
  const { travel, busy, snapshots } = makeStages(rooms);
  const descriptions = makeDescriptions({ ...config, tokenUrl: rooms.tokenUrl });
  const batchRooms = { config, databases, snapshots, travel };

  async function handle(raw: RawRequest): Promise<Reply> {
    const segments = segmentsOf(raw.path);
    const [organization = '', workspace = ''] = segments;
    const name = workspaceOperationAt(segments);
    const path = name === 'mcp' ? agentsPath(organization, workspace) : undefined;
    const resource = path === undefined ? undefined : config.publicUrl + path;
    const address = { organization, workspace, resource };
    const again = async () => enter(rooms, raw.credential, address, uncounted);
    const metadata = path !== undefined && config.mcp ? config.publicUrl + RESOURCE_METADATA + path : undefined;
    const entered = (metadata === undefined ? enter : enterAsAgent(metadata))(
      rooms,
      raw.credential,
      address,
      rooms.rateLimit,
    );
    const visitor = entered instanceof Promise ? await entered : entered;
    if (name !== undefined) {
      const { methods } = WORKSPACE_OPERATIONS[name];
      if (!methods.some((one) => one === raw.method)) throw methodNotAllowed(raw.method, [...methods, 'OPTIONS']);
      const clock = new RequestClock(config.statementTimeoutMs);
      const journey: BatchJourney = { parts: partsOf(raw, config), sender: raw, visitor, again, clock };
      return ofWorkspace[name](raw, journey);
    }
    return await answer(raw, callOf(raw, segments, visitor.workspace, config), visitor, again);
  }

  /** Of a request for records of somebody who has entered. */
  function answer(raw: RawRequest, call: Call, visitor: Visitor, again: () => Promise<Visitor>): Promise<Reply> {
    const header = raw.headers['idempotency-key'];
    const isKeyed = header !== undefined && OPERATIONS[call.operation].access === 'write';
    // An import is one stream and one transaction: it minds its key by itself.
    if (isKeyed && call.operation !== 'import' && !isDryRun(call)) {
      const clock = new RequestClock(config.statementTimeoutMs);
      const journey = { call, executor: databases.of(visitor.workspace), sender: raw, visitor, again, clock };
      return once(
        keyedOf(raw, String(header), journey, isBodiless(call)),
        (single, transaction) => writeKeyed(batchRooms, journey, single, transaction),
        (kept) => replayCall(batchRooms, journey, kept),
      ).catch((error) => tell(error, visitor, false));
    }
    const mayBeDone = OPERATIONS[call.operation].access === 'write' && call.operation !== 'import';
    return travel({ call, executor: databases.of(visitor.workspace), sender: raw, visitor, again }).catch((error) =>
      tell(error, visitor, mayBeDone),
    );
  }

  /** Throws the error as it is told, with what is known of the node of the workspace. */
  function tell(error: unknown, { workspace }: Visitor, mayBeDone: boolean): never {
    throw databases.nodeOf(workspace)?.isAway() === true ? byAwayNode(error, mayBeDone) : error;
  }

  type OfWorkspace = (raw: RawRequest, journey: BatchJourney) => Promise<Reply>;
  const ofWorkspace: Readonly<Record<WorkspaceOperationName, OfWorkspace>> = {
    index: async (raw, { visitor }) => descriptions.index(raw, visitor),
    openapi: (raw, { visitor }) => descriptions.document(raw, visitor),
    schema: (raw, { visitor }) => descriptions.schema(raw, visitor),
    batch(raw, journey) {
      const header = raw.headers['idempotency-key'];
      const isKeyed = header !== undefined && !parseBatchOptions(raw.query).isDryRun;
      const reply = isKeyed
        ? once(
            keyedOf(raw, String(header), journey, false),
            (_, transaction) => batch(batchRooms, journey, transaction),
            (kept) => replayBatch(batchRooms, journey, kept),
          )
        : batch(batchRooms, journey);
      return reply.catch((error) => tell(error, journey.visitor, false));
    },
    mcp: (raw, { visitor, again }) => rooms.agents(guestOf(raw, visitor, again)),
  };

  function guestOf(raw: RawRequest, visitor: Visitor, again: () => Promise<Visitor>): Guest {
    const within = (ids: readonly string[], { workspace, principal }: Visitor): Visitor =>
      visitorOf(rooms, wholeOf(workspace), narrowed(principal, ids));
    return {
      raw,
      visitor,
      again,
      answerAs,
      within: (ids) => guestOf(raw, within(ids, visitor), async () => within(ids, await again())),
    };
  }

  /** What a request with a key is remembered by. */
  function keyedOf(
    raw: RawRequest,
    header: string,
    { sender, visitor, clock }: Pick<BatchJourney, 'sender' | 'visitor' | 'clock'>,
    isBodiless: boolean,
  ): KeyedRequest {
    const path = segmentsOf(raw.path).slice(2).join('/');
    const scope = scopeOf(visitor, raw.method, path, parseIdempotencyKey(header));
    const fingerprint = async (): Promise<string> =>
      fingerprintOf(raw.query, isBodiless ? undefined : await raw.body(config.maxBulkBytes));
    const { workspace } = visitor;
    const where = { executor: databases.of(workspace), place: databases.nodeOf(workspace) };
    return { keys: rooms.keys, ...where, visitor, sender, clock, scope, fingerprint };
  }

  const answerAs: AnswerAs = async (principal, raw, { again: enterAgain, within } = {}) => {
    const segments = segmentsOf(raw.path);
    const [organization = '', slug = ''] = segments;
    const again = async (): Promise<Visitor> => {
      const workspace = await cache.get(organization, slug);
      if (workspace === undefined || !belongsTo(principal, workspace.id)) throw invalidCredential();
      const visitor = visitorOf(rooms, workspace, principal);
      return within === undefined ? visitor : { ...visitor, workspace: within(visitor.workspace) };
    };
    const visitor = await again();
    return answer(raw, callOf(raw, segments, visitor.workspace, config), visitor, enterAgain ?? again);
  };

  return { mount: mountOf(handle), answerAs, busy };
}

export function makeStages(rooms: StageRooms): Stages {
  const { config, cache } = rooms;
  const compileOptions = { maxResponseBytes: config.maxResponseBytes };
  const stage: ReadRooms & BulkRooms = { ...rooms, compileOptions, prepared: makePreparedStatements(compileOptions) };
  const handlers: Readonly<Record<OperationName, Handler>> = {
    list: (visit) => list(stage, visit),
    query: (visit) => query(stage, visit),
    aggregate: (visit) => aggregate(stage, visit),
    summarize: (visit) => summarize(stage, visit),
    read: (visit) => read(stage, visit),
    create: (visit) => create(stage, visit),
    update: (visit) => update(stage, visit),
    delete: (visit) => remove(stage, visit),
    bulkCreate: (visit) => bulkCreate(stage, visit),
    bulkUpdate: (visit) => bulkUpdate(stage, visit),
    bulkDelete: (visit) => bulkDelete(stage, visit),
    bulkDeleteListed: (visit) => bulkDeleteListed(stage, visit),
    import: rooms.transfer.importRecords,
    export: rooms.transfer.exportRecords,
  };
  const inFlight = makeInFlight();
  const near = makeNear(rooms.databases);
  const snapshots: Snapshots = {
    hasChanged: (snapshot) => hasChanged(cache, addressOf(snapshot), snapshot),
    drop(snapshot) {
      if (!cache.isReplaced(snapshot)) cache.changed(snapshot.id);
    },
    hold: inFlight.hold,
    release: inFlight.release,
  };

  function travel({ call, executor, sender, visitor, again, clock, key }: Journey): Promise<Reply> {
    const attempt: Attempt = {
      call,
      executor,
      key,
      clock: clock ?? new RequestClock(config.statementTimeoutMs, isBodiless(call) ? sender.arrivedAt : undefined),
      again,
    };
    return withFreshSnapshot(snapshots, attempt, visitor, (current) => {
      const checkedAt = current === visitor ? sender.arrivedAt : performance.now();
      return handlers[call.operation](visitOf(call, attempt, sender, current, checkedAt));
    });
  }

  /** True when the snapshot is known to be in force. A process that was forgotten meanwhile, or heard nothing, does not know. */
  const isKnown = (workspace: Workspace): boolean =>
    cache.fresh(workspace.organization, workspace.slug) === wholeOf(workspace);

  /** Admits the principal to the entity. `checkedAt`: since when credential and snapshot have been in force at least. */
  function visitOf(
    call: Call,
    attempt: Attempt,
    sender: Sender,
    { workspace, principal }: Visitor,
    checkedAt: number,
  ): Visit {
    const { clock, again, key } = attempt;
    const { access } = OPERATIONS[call.operation];
    const entity = admit(workspace, principal, call.entity, access);
    const place = rooms.databases.nodeOf(workspace);
    if (place?.isAway() === true) throw workspaceAway();
    const mayBeNear = access === 'read' && call.operation !== 'export' && !attempt.executor.isTransaction;
    const isThere = mayBeNear ? near(workspace, entity) : undefined;
    return {
      call,
      sender,
      principal,
      workspace: isThere?.workspace ?? workspace,
      entity: isThere?.entity ?? entity,
      executor: isThere?.executor ?? attempt.executor,
      clock,
      key,
      place,
      isStale: (now) => cache.isReplaced(workspace) || (now - checkedAt > TRUST_MS && !isKnown(workspace)),
      confirm: async () => (await cache.get(workspace.organization, workspace.slug)) === wholeOf(workspace),
      async again() {
        cache.changed(workspace.id);
        return visitOf(call, attempt, sender, await again(), performance.now());
      },
    };
  }

  return { travel, busy: inFlight.oldest, snapshots };
}

function mountOf(handle: Mount['handle']): Mount {
  return {
    matches: (url) => url.startsWith(PREFIX),
    // Each workspace has operations of its own.
    operations: [],
    readyFirst: true,
    groupOf: (url) => groupOf(url, PREFIX),
    operationOf,
    handle,
    refuse: errorReply,
    isPaced: ({ status }) => status === 401,
  };
}

const addressOf = ({ organization, slug }: Workspace) => ({ organization, workspace: slug });

/** What is undone needs no key. */
const isDryRun = ({ query }: Call): boolean =>
  parseQueryString(query).some(({ name, value }) => name === 'dryRun' && value === 'true');

const isBodiless = ({ operation }: Call): boolean => OPERATIONS[operation].body === 'none';
