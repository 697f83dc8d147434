// The data API: one pipeline from raw request to reply. Order of refusals: credential (401), workspace, method (405),
// permission (403), entity (404), migration gate (503), parameters (400), body (400).
import { LRUCache } from 'lru-cache';
import type { Authenticator } from '../auth/authenticate.ts';
import type { WorkspaceCache } from '../catalog/workspace-cache.ts';
import type { Config } from '../config.ts';
import { isLockTimeout, isStaleSnapshot, translateError } from '../db/pg-error.ts';
import type { Database, Row } from '../db/pool.ts';
import {
  ApiError,
  invalidCredential,
  isBySchema,
  methodNotAllowed,
  notFound,
  preconditionFailed,
  recordNotFound,
  responseTooLarge,
} from '../errors.ts';
import type { RawRequest } from '../http/raw-request.ts';
import type { RecordHandler } from '../http/server.ts';
import type { Totals } from '../migrate/totals.ts';
import type { External, Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import type { RateLimit } from '../pace/rate-limit.ts';
import { admit, type ListPlan, planList, planRead } from '../plan/plan.ts';
import { hasLists } from '../plan/projection.ts';
import { isCurrent, matches, parseEntityTags } from '../request/conditions.ts';
import { wordsOf } from '../request/query-string.ts';
import { operationOf, parseId, segmentsOf } from '../request/record-path.ts';
import {
  type ListRequest,
  parseListRequest,
  parseParameters,
  parseQueryBody,
  parseReadRequest,
} from '../request/record-request.ts';
import { listEnvelope, recordEnvelope } from '../response/envelope.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import { carefulOf, compile, compileEstimate, type Inputs, type Statement, sizeOf } from '../sql/compile.ts';
import { entityTag, jsonBody, RequestClock, runFor, type TransferHandlers, type Visit } from './visit.ts';
import { makeRecordWrites } from './writes.ts';

export interface RecordRooms {
  readonly config: Config;
  readonly db: Database;
  readonly cache: WorkspaceCache;
  readonly authenticator: Authenticator;
  readonly rateLimit: RateLimit;
  readonly totals: Pick<Totals, 'keep'>;
  /** `_import` and `_export`. */
  readonly transfer: TransferHandlers;
}

/** Who asks, and of which workspace. */
interface Visitor {
  readonly workspace: Workspace;
  readonly principal: Principal;
}

export interface RecordAnswers extends RecordHandler {
  readonly answerAs: (principal: External, raw: RawRequest) => Promise<Reply>;
  /** Requests that are being answered: by workspace id, the oldest version that one of them was planned by. */
  readonly busy: () => ReadonlyMap<string, string>;
}

const uncounted: RateLimit = () => undefined;

/** A planned and compiled read, good for every request with the same words. */
interface Prepared {
  readonly statement: Statement;
  readonly plan: ListPlan | undefined;
  readonly estimate: Statement | undefined;
}

// Counting so many records takes about as long as everything else about a list (0.3 ms); keeping their number costs
// each create and delete a little.
const KEPT_FROM = 5000;
// Compiled requests by their words (entity and query string). An entry is some 3 kB, of an entity of 500 fields 100.
const MAX_PREPARED = 8000;
const MAX_PREPARED_BYTES = 67_108_864;
const MAX_CACHED_QUERY = 1000;

export function makeRecordHandler(rooms: RecordRooms): RecordAnswers {
  const { config, db, cache, authenticator } = rooms;
  const prepared = new LRUCache<string, Prepared>({
    max: MAX_PREPARED,
    maxSize: MAX_PREPARED_BYTES,
    sizeCalculation: preparedSize,
  });
  const writes = makeRecordWrites({ config, db });
  const compileOptions = { maxResponseBytes: config.maxResponseBytes };

  /** Requests that are being answered, by the snapshot that they were planned by. */
  const visits = new Map<Workspace, number>();

  function enterVisit(workspace: Workspace): void {
    visits.set(workspace, (visits.get(workspace) ?? 0) + 1);
  }

  function leaveVisit(workspace: Workspace): void {
    const left = (visits.get(workspace) ?? 0) - 1;
    if (left > 0) visits.set(workspace, left);
    else visits.delete(workspace);
  }

  function busy(): ReadonlyMap<string, string> {
    const oldest = new Map<string, string>();
    for (const workspace of visits.keys()) {
      const known = oldest.get(workspace.id);
      if (known === undefined || BigInt(workspace.version) < BigInt(known)) oldest.set(workspace.id, workspace.version);
    }
    return oldest;
  }

  async function handle(raw: RawRequest): Promise<Reply> {
    const segments = segmentsOf(raw.path);
    const [organization = '', slug = ''] = segments;
    const visitor = await enter(raw, organization, slug, rooms.rateLimit);
    return answer(raw, segments, visitor, () => enter(raw, organization, slug, uncounted));
  }

  /** The answer to a principal who is known. `again` finds both anew when the schema has changed under the snapshot. */
  async function answer(
    raw: RawRequest,
    segments: readonly string[],
    visitor: Visitor,
    again: () => Promise<Visitor>,
    clock = new RequestClock(config.statementTimeoutMs, raw.method === 'GET' ? raw.arrivedAt : undefined),
  ): Promise<Reply> {
    if (segments.length < 3 || segments.length > 4) throw noSuchPath(visitor.workspace);
    const name = segments[2] as string;
    const isOutdated = segments[3] === '_import' && (await hasChanged(segments, visitor.workspace));
    const admitted = isOutdated ? await again() : visitor;
    const { workspace } = admitted;
    // Transfers may take an hour; they hold their tables and ask again before they use a name.
    const isCounted = !isTransfer(segments[3]);
    if (isCounted) enterVisit(workspace);
    try {
      return await dispatch(raw, admitted, name, segments[3], clock, again);
    } catch (error) {
      if (isLockTimeout(error)) {
        // It waited longer than a snapshot may be old: a gate that was closed meanwhile is the better answer.
        const now = await again();
        const reads = raw.method === 'GET' || raw.method === 'HEAD' || segments[3] === '_query';
        admit(now.workspace, now.principal, name, reads ? 'read' : 'write');
      }
      // The file of an import is read by now; it was asked about before.
      if (isBySchema(error) && segments[3] !== '_import' && (await hasChanged(segments, workspace))) {
        return answer(raw, segments, await again(), again, clock);
      }
      if (!isStaleSnapshot(error)) throw error;
      // Nothing was done; the request is planned again from the new snapshot.
      if (!clock.plansAgain()) throw translateError(error, workspace, name, 'read');
      if (!cache.isReplaced(workspace)) cache.changed(workspace.id);
      return answer(raw, segments, await again(), again, clock);
    } finally {
      if (isCounted) leaveVisit(workspace);
    }
  }

  /** Answers as if the principal had sent the request; for administrators who ask what somebody would see. */
  async function answerAs(principal: External, raw: RawRequest): Promise<Reply> {
    const segments = segmentsOf(raw.path);
    const find = async (): Promise<Visitor> => {
      const workspace = await cache.get(segments[0] ?? '', segments[1] ?? '');
      if (workspace === undefined || workspace.id !== principal.workspaceId) throw invalidCredential();
      return { workspace, principal };
    };
    return answer(raw, segments, await find(), find);
  }

  /**
   * Credential and workspace. A workspace that does not exist and one of somebody else look the same to all but the
   * operator. Who asks is looked at and counted before the database is asked for the workspace.
   */
  async function enter(raw: RawRequest, organization: string, slug: string, count: RateLimit): Promise<Visitor> {
    const { authorization } = raw.headers;
    const fresh = cache.fresh(organization, slug);
    const recalled = fresh === undefined ? undefined : authenticator.recall(authorization, fresh);
    if (fresh !== undefined && recalled !== undefined) {
      const counted = count(recalled.credentialId);
      if (counted === undefined) return { workspace: fresh, principal: recalled };
      await counted;
      return enter(raw, organization, slug, uncounted);
    }
    const place = [organization, slug];
    try {
      return await identify(authorization, place, count);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      const known = cache.fresh(organization, slug);
      if (known === undefined || !(await hasChanged(place, known))) throw error;
      return identify(authorization, place, uncounted);
    }
  }

  /** Looks the credential up, in the workspace or not. */
  async function identify(
    authorization: string | undefined,
    [organization = '', slug = '']: readonly string[],
    count: RateLimit,
  ): Promise<Visitor> {
    const find = () => cache.get(organization, slug);
    const principal = await authenticator.authenticate(authorization, find);
    const counted = count(principal.credentialId);
    if (counted !== undefined) await counted;
    const workspace = await find();
    if (principal.kind === 'operator') {
      if (workspace === undefined) throw notFound('The workspace does not exist');
    } else if (workspace === undefined || workspace.id !== principal.workspaceId) throw invalidCredential();
    return { workspace, principal };
  }

  /** Would a refusal by this snapshot be one by the past? */
  async function hasChanged([organization = '', slug = '']: readonly string[], workspace: Workspace): Promise<boolean> {
    // Without the database the snapshot is as good as its lease.
    return (await cache.getRecent(organization, slug).catch(() => workspace)) !== workspace;
  }

  function dispatch(
    raw: RawRequest,
    visitor: Visitor,
    name: string,
    tail: string | undefined,
    clock: RequestClock,
    again: () => Promise<Visitor>,
  ): Promise<Reply> {
    const { method } = raw;
    const visitOf = ({ workspace, principal }: Visitor, operation: 'read' | 'write'): Visit => ({
      raw,
      workspace,
      principal,
      entity: admit(workspace, principal, name, operation),
      clock,
      isStale: () => cache.isReplaced(workspace),
      async again() {
        cache.changed(workspace.id);
        return visitOf(await again(), operation);
      },
    });
    const visit = (operation: 'read' | 'write'): Visit => visitOf(visitor, operation);
    switch (tail) {
      case undefined:
        if (method === 'GET' || method === 'HEAD') return list(visit('read'));
        if (method === 'POST') return writes.create(visit('write'));
        throw methodNotAllowed(method, ['GET', 'HEAD', 'POST', 'OPTIONS']);
      case '_query':
        if (method !== 'POST') throw methodNotAllowed(method, ['POST', 'OPTIONS']);
        return query(visit('read'));
      case '_import':
        if (method !== 'POST') throw methodNotAllowed(method, ['POST', 'OPTIONS']);
        return rooms.transfer.importRecords(visit('write'));
      case '_export':
        if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed(method, ['GET', 'HEAD', 'OPTIONS']);
        return rooms.transfer.exportRecords(visit('read'));
      default:
    }
    switch (method) {
      case 'GET':
      case 'HEAD':
        return read(visit('read'), tail);
      case 'PUT':
      case 'PATCH':
        return writes.update(visit('write'), tail);
      case 'DELETE':
        return writes.remove(visit('write'), tail);
      default:
        throw methodNotAllowed(method, ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
    }
  }

  async function list(visit: Visit): Promise<Reply> {
    const query = wordsOf(visit.raw.query);
    const key = `l ${visit.principal.kind} ${visit.workspace.id}.${visit.workspace.version} ${visit.entity.name} ${query}`;
    let entry = prepared.get(key);
    if (entry === undefined) {
      entry = prepareList(parseListRequest(visit.raw.query, config), visit);
      if (query.length <= MAX_CACHED_QUERY) prepared.set(key, entry);
    }
    return runList(entry, visit);
  }

  async function query(visit: Visit): Promise<Reply> {
    parseParameters(visit.raw.query, []);
    return runList(prepareList(parseQueryBody(await jsonBody(visit.raw, config.maxBodyBytes), config), visit), visit);
  }

  function prepareList(request: ListRequest, visit: Visit): Prepared {
    const plan = planList(request, visit.entity, visit);
    return {
      plan,
      statement: compile(plan, compileOptions),
      estimate: plan.count === 'estimated' ? compileEstimate(plan) : undefined,
    };
  }

  async function runList({ statement, plan, estimate }: Prepared, visit: Visit): Promise<Reply> {
    const inputs: Inputs = { principal: visit.principal };
    const [rows, estimated] = await Promise.all([
      runFor(visit, db, statement, inputs, 'read', 'read'),
      estimate === undefined ? undefined : runFor(visit, db, estimate, inputs, 'read', 'read'),
    ]);
    const [data, total, last, more, counted] = rows[0] as (string | null)[] as [
      string | null,
      string | null,
      string | null,
      string | null,
      string | null | undefined,
    ];
    if (data === null) throw responseTooLarge(config.maxResponseBytes);
    if (counted === 't' && Number(total) >= KEPT_FROM) rooms.totals.keep(visit.entity);
    return jsonText(
      200,
      listEnvelope({ data, total, last, more }, plan as ListPlan, estimated && estimateOf(estimated)),
    );
  }

  async function read(visit: Visit, idText: string): Promise<Reply> {
    const id = parseId(idText);
    const query = wordsOf(visit.raw.query);
    const key = `r ${visit.principal.kind} ${visit.workspace.id}.${visit.workspace.version} ${visit.entity.name} ${query}`;
    let entry = prepared.get(key);
    if (entry === undefined) {
      const plan = planRead(parseReadRequest(visit.raw.query, config), visit.entity, visit);
      entry = { statement: compile(plan, compileOptions), plan: undefined, estimate: undefined };
      // A record by its id is quick; what lists come with it may hold millions.
      entry.statement.cost.isQuick ??= hasLists(plan.projection) ? undefined : true;
      if (query.length <= MAX_CACHED_QUERY) prepared.set(key, entry);
    }
    if (id === undefined) throw recordNotFound();
    const [data, version] = await readRow(entry.statement, visit, id);
    const tag = entityTag(version, entry.statement, data);
    const { 'if-none-match': noneMatch, 'if-match': match } = visit.raw.headers;
    if (match !== undefined && !isCurrent(parseEntityTags(match), version)) throw preconditionFailed();
    if (noneMatch !== undefined && matches(parseEntityTags(noneMatch), tag)) {
      return { status: 304, headers: { ETag: `"${tag}"` }, body: { kind: 'empty' } };
    }
    return jsonText(200, recordEnvelope(data), { ETag: `"${tag}"` });
  }

  async function readRow(statement: Statement, visit: Visit, id: string): Promise<readonly [string, string]> {
    const [row] = await runFor(visit, db, statement, { id, principal: visit.principal }, 'read', 'read');
    if (row === undefined) throw recordNotFound();
    const [data, version] = row as [string | null, string];
    if (data !== null) return [data, version];
    // Of a record without related ones only the careful text tells whether it is too large.
    const careful = statement.tag === undefined ? undefined : carefulOf(statement);
    if (careful === undefined) throw responseTooLarge(config.maxResponseBytes);
    return readRow(careful, visit, id);
  }

  return Object.assign(handle, { operationOf, answerAs, busy });
}

/** What a remembered request takes, in bytes, roughly: its plan as many objects as its text has names. */
function preparedSize({ statement, plan, estimate }: Prepared, key: string): number {
  const planned = plan === undefined ? 0 : statement.text.length;
  return sizeOf(statement) + planned + (estimate === undefined ? 0 : sizeOf(estimate)) + key.length;
}

const isTransfer = (tail: string | undefined): boolean => tail === '_import' || tail === '_export';

function noSuchPath(workspace: Workspace): ApiError {
  const names = [...workspace.entities.keys()].slice(0, 50).join(', ') || 'none';
  return notFound(`Records are at /api/v1/{organization}/{workspace}/{entity}. Entities: ${names}`);
}

function estimateOf(rows: readonly Row[]): number {
  const [plan] = JSON.parse(rows[0]?.[0] ?? '[]') as { Plan: { 'Plan Rows': number } }[];
  return plan?.Plan['Plan Rows'] ?? 0;
}
