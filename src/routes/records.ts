// The data API: one pipeline from raw request to reply. Order of refusals: credential (401), workspace, method (405),
// permission (403), entity (404), migration gate (503), parameters (400), body (400).
import { LRUCache } from 'lru-cache';
import type { Authenticator } from '../auth/authenticate.ts';
import type { RateLimit } from '../auth/rate-limit.ts';
import type { WorkspaceCache } from '../catalog/workspace-cache.ts';
import type { Config } from '../config.ts';
import { isLockTimeout, isStaleSnapshot, translateError } from '../db/pg-error.ts';
import type { Database, Row } from '../db/pool.ts';
import {
  type ApiError,
  invalidCredential,
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
import { admit, type ListPlan, planList, planRead } from '../plan/plan.ts';
import { isCurrent, matches, parseEntityTags } from '../request/conditions.ts';
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
import { compile, compileEstimate, type Inputs, type Statement } from '../sql/compile.ts';
import { makeRecordWrites } from './record-writes.ts';
import { entityTag, jsonBody, runFor, type TransferHandlers, type Visit } from './visit.ts';

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
}

/** A planned and compiled read, good for every request with the same words. */
interface Prepared {
  readonly statement: Statement;
  readonly plan: ListPlan | undefined;
  readonly estimate: Statement | undefined;
}

// Counting so many records takes about as long as everything else about a list (0.3 ms); keeping their number costs
// each create and delete a little.
const KEPT_FROM = 5000;
// Compiled requests by their words (entity and query string). An entry is some 3 kB.
const MAX_PREPARED = 8000;
const MAX_CACHED_QUERY = 1000;

export function makeRecordHandler(rooms: RecordRooms): RecordAnswers {
  const { config, db, cache, authenticator } = rooms;
  const prepared = new LRUCache<string, Prepared>({ max: MAX_PREPARED });
  const writes = makeRecordWrites({ config, db });
  const compileOptions = { maxResponseBytes: config.maxResponseBytes };

  async function handle(raw: RawRequest): Promise<Reply> {
    const segments = segmentsOf(raw.path);
    const visitor = await enter(raw, segments[0] ?? '', segments[1] ?? '');
    const counted = rooms.rateLimit(visitor.principal.credentialId);
    if (counted !== undefined) await counted;
    return answer(raw, segments, visitor, () => enter(raw, segments[0] as string, segments[1] as string));
  }

  /** The answer to a principal who is known. `again` finds both anew when the schema has changed under the snapshot. */
  async function answer(
    raw: RawRequest,
    segments: readonly string[],
    { workspace, principal }: Visitor,
    again: () => Promise<Visitor>,
  ): Promise<Reply> {
    if (segments.length < 3 || segments.length > 4) throw noSuchPath(workspace);
    const name = segments[2] as string;
    try {
      return await dispatch(raw, workspace, principal, name, segments[3]);
    } catch (error) {
      if (isLockTimeout(error)) {
        // It waited longer than a snapshot may be old: a gate that was closed meanwhile is the better answer.
        const now = await again();
        const reads = raw.method === 'GET' || raw.method === 'HEAD' || segments[3] === '_query';
        admit(now.workspace, now.principal, name, reads ? 'read' : 'write');
      }
      if (!isStaleSnapshot(error)) throw error;
      // Nothing was done; the request is planned again from the new snapshot.
      cache.changed(workspace.id);
      const now = await again();
      return dispatch(raw, now.workspace, now.principal, name, segments[3]).catch((failure) => {
        throw translateError(failure, now.workspace, name, 'read');
      });
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

  /** Credential and workspace. A workspace that does not exist and one of somebody else look the same to all but the operator. */
  async function enter(raw: RawRequest, organization: string, slug: string): Promise<Visitor> {
    const { authorization } = raw.headers;
    const found = cache.get(organization, slug);
    if (found !== undefined && !(found instanceof Promise)) {
      const recalled = authenticator.recall(authorization, found);
      if (recalled !== undefined) return { workspace: found, principal: recalled };
    }
    const workspace = await found;
    const principal = await authenticator.authenticate(authorization, workspace);
    if (principal.kind === 'operator') {
      if (workspace === undefined) throw notFound('The workspace does not exist');
    } else if (workspace === undefined || workspace.id !== principal.workspaceId) throw invalidCredential();
    return { workspace, principal };
  }

  function dispatch(
    raw: RawRequest,
    workspace: Workspace,
    principal: Principal,
    name: string,
    tail: string | undefined,
  ): Promise<Reply> {
    const { method } = raw;
    const visit = (operation: 'read' | 'write'): Visit => ({
      raw,
      workspace,
      principal,
      entity: admit(workspace, principal, name, operation),
    });
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
    const key = `l ${visit.principal.kind} ${visit.workspace.id}.${visit.workspace.version} ${visit.entity.name} ${visit.raw.query}`;
    let entry = prepared.get(key);
    if (entry === undefined) {
      entry = prepareList(parseListRequest(visit.raw.query, config), visit);
      if (visit.raw.query.length <= MAX_CACHED_QUERY) prepared.set(key, entry);
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
    const key = `r ${visit.principal.kind} ${visit.workspace.id}.${visit.workspace.version} ${visit.entity.name} ${visit.raw.query}`;
    let entry = prepared.get(key);
    if (entry === undefined) {
      const plan = planRead(parseReadRequest(visit.raw.query, config), visit.entity, visit);
      entry = { statement: compile(plan, compileOptions), plan: undefined, estimate: undefined };
      // A record by its id is quick: it starts on the lane of quick reads.
      entry.statement.cost.isQuick ??= true;
      if (visit.raw.query.length <= MAX_CACHED_QUERY) prepared.set(key, entry);
    }
    if (id === undefined) throw recordNotFound();
    const rows = await runFor(visit, db, entry.statement, { id, principal: visit.principal }, 'read', 'read');
    const row = rows[0];
    if (row === undefined) throw recordNotFound();
    const [data, version] = row as [string | null, string];
    if (data === null) throw responseTooLarge(config.maxResponseBytes);
    const tag = entityTag(version, entry.statement, data);
    const { 'if-none-match': noneMatch, 'if-match': match } = visit.raw.headers;
    if (match !== undefined && !isCurrent(parseEntityTags(match), version)) throw preconditionFailed();
    if (noneMatch !== undefined && matches(parseEntityTags(noneMatch), tag)) {
      return { status: 304, headers: { ETag: `"${tag}"` }, body: { kind: 'empty' } };
    }
    return jsonText(200, recordEnvelope(data), { ETag: `"${tag}"` });
  }

  return Object.assign(handle, { operationOf, answerAs });
}

function noSuchPath(workspace: Workspace): ApiError {
  const names = [...workspace.entities.keys()].slice(0, 50).join(', ') || 'none';
  return notFound(`Records are at /api/v1/{organization}/{workspace}/{entity}. Entities: ${names}`);
}

function estimateOf(rows: readonly Row[]): number {
  const [plan] = JSON.parse(rows[0]?.[0] ?? '[]') as { Plan: { 'Plan Rows': number } }[];
  return plan?.Plan['Plan Rows'] ?? 0;
}
