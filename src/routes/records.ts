// The data API: one pipeline from raw request to reply. Order of refusals: credential (401), workspace, permission (403),
// entity (404), migration gate (503), parameters (400), body (400).
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Authenticator } from '../auth/authenticate.ts';
import type { RateLimit } from '../auth/rate-limit.ts';
import type { WorkspaceCache } from '../catalog/workspace-cache.ts';
import type { Config } from '../config.ts';
import { isRetryable, isStaleSnapshot, sqlState, translateError, type WriteKind } from '../db/pg-error.ts';
import type { Database, Lane, Row } from '../db/pool.ts';
import {
  type ApiError,
  type Detail,
  invalidCredential,
  methodNotAllowed,
  notFound,
  preconditionFailed,
  recordNotFound,
  responseTooLarge,
  unsupportedMediaType,
  validationFailed,
} from '../errors.ts';
import type { RawRequest } from '../http/raw-request.ts';
import type { RecordHandler } from '../http/server.ts';
import type { Entity } from '../model/entity.ts';
import type { Principal } from '../model/principal.ts';
import type { Workspace } from '../model/workspace.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import {
  admit,
  type ListPlan,
  planCreate,
  planDelete,
  planList,
  planRead,
  planReferences,
  planUpdate,
} from '../plan/plan.ts';
import { stampedColumns } from '../plan/row-policy.ts';
import { isJsonType, parseBody } from '../request/body.ts';
import { guardOf, isCurrent, matches, parseEntityTags } from '../request/conditions.ts';
import { operationOf, parseId, segmentsOf } from '../request/record-path.ts';
import {
  type ListRequest,
  parseListRequest,
  parseParameters,
  parseQueryBody,
  parseReadRequest,
} from '../request/record-request.ts';
import { listEnvelope, recordEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, compile, compileEstimate, type Inputs, type Statement } from '../sql/compile.ts';

export interface RecordRooms {
  readonly config: Config;
  readonly db: Database;
  readonly cache: WorkspaceCache;
  readonly authenticator: Authenticator;
  readonly rateLimit: RateLimit;
  /** `_import` and `_export`. */
  readonly transfer: TransferHandlers;
}

/** One request, its principal admitted to the entity. */
export interface Visit {
  readonly raw: RawRequest;
  readonly workspace: Workspace;
  readonly principal: Principal;
  readonly entity: Entity;
}

export interface TransferHandlers {
  readonly importRecords: (visit: Visit) => Promise<Reply>;
  readonly exportRecords: (visit: Visit) => Promise<Reply>;
}

/** A planned and compiled read, good for every request with the same words. */
interface Prepared {
  readonly statement: Statement;
  readonly plan: ListPlan | undefined;
  readonly estimate: Statement | undefined;
}

// Compiled requests by their words (entity and query string). An entry is some 3 kB.
const MAX_PREPARED = 4000;
const MAX_CACHED_QUERY = 1000;
const WRITE_ATTEMPTS = 4;

export function makeRecordHandler(rooms: RecordRooms): RecordHandler {
  const { config, db, cache, authenticator } = rooms;
  const prepared = new LRUCache<string, Prepared>({ max: MAX_PREPARED });
  const compileOptions = { maxResponseBytes: config.maxResponseBytes };

  async function handle(raw: RawRequest): Promise<Reply> {
    const segments = segmentsOf(raw.path);
    const { workspace, principal } = await enter(raw, segments[0] ?? '', segments[1] ?? '');
    rooms.rateLimit(principal.credentialId);
    if (segments.length < 3 || segments.length > 4) throw noSuchPath(workspace);
    try {
      return await dispatch(raw, workspace, principal, segments[2] as string, segments[3]);
    } catch (error) {
      if (!isStaleSnapshot(error)) throw error;
      // The schema has changed under the snapshot: nothing was done, the request is planned again from the new one.
      cache.changed(workspace.id);
      const again = await enter(raw, segments[0] as string, segments[1] as string);
      return dispatch(raw, again.workspace, again.principal, segments[2] as string, segments[3]).catch((failure) => {
        throw translateError(failure, again.workspace, segments[2] as string, 'read');
      });
    }
  }

  /** Credential and workspace. A workspace that does not exist and one of somebody else look the same to all but the operator. */
  async function enter(
    raw: RawRequest,
    organization: string,
    slug: string,
  ): Promise<{ workspace: Workspace; principal: Principal }> {
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
        if (method === 'POST') return create(visit('write'));
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
        return update(visit('write'), tail);
      case 'DELETE':
        return remove(visit('write'), tail);
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
    return runList(prepareList(parseQueryBody(await jsonBody(visit.raw), config), visit), visit);
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
      run(statement, inputs, 'read', visit, 'read'),
      estimate === undefined ? undefined : run(estimate, inputs, 'read', visit, 'read'),
    ]);
    const [data, total, last, more] = rows[0] as [string | null, string | null, string | null, string | null];
    if (data === null) throw responseTooLarge(config.maxResponseBytes);
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
      entry.statement.cost.milliseconds ??= 0;
      if (visit.raw.query.length <= MAX_CACHED_QUERY) prepared.set(key, entry);
    }
    if (id === undefined) throw recordNotFound();
    const rows = await run(entry.statement, { id, principal: visit.principal }, 'read', visit, 'read');
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

  async function create(visit: Visit): Promise<Reply> {
    parseParameters(visit.raw.query, []);
    const { values, details } = planAssignment(
      await jsonBody(visit.raw),
      visit.entity,
      undefined,
      stampedColumns(visit.entity, visit.principal),
    );
    await refuse(details, values, visit);
    const statement = compile(planCreate(values, visit.entity, visit), compileOptions);
    const rows = await write(statement, { body: values, principal: visit.principal }, values, visit, 'create');
    const [data, version] = rows[0] as [string, string];
    const id = /^\{"id":(\d+)/.exec(data)?.[1] ?? '';
    return jsonText(201, recordEnvelope(data), {
      ETag: `"${entityTag(version, statement, data)}"`,
      Location: `/api/v1/${visit.workspace.organization}/${visit.workspace.slug}/${visit.entity.name}/${id}`,
    });
  }

  async function update(visit: Visit, idText: string): Promise<Reply> {
    const id = parseId(idText);
    parseParameters(visit.raw.query, []);
    const { values, details } = planAssignment(await jsonBody(visit.raw), visit.entity, id ?? '0');
    await refuse(details, values, visit);
    if (id === undefined) throw recordNotFound();
    const { guarded, versions } = guardOf(visit.raw.headers['if-match']);
    const statement = compile(planUpdate(values, visit.entity, visit, guarded), compileOptions);
    const rows = await write(
      statement,
      { id, body: values, versions, principal: visit.principal },
      values,
      visit,
      'update',
    );
    const row = rows[0];
    if (row === undefined) throw await missingOrChanged(visit, id, guarded);
    const [data, version] = row as [string, string];
    return jsonText(200, recordEnvelope(data), { ETag: `"${entityTag(version, statement, data)}"` });
  }

  async function remove(visit: Visit, idText: string): Promise<Reply> {
    const id = parseId(idText);
    parseParameters(visit.raw.query, []);
    if (id === undefined) throw recordNotFound();
    const { guarded, versions } = guardOf(visit.raw.headers['if-match']);
    const statement = compile(planDelete(visit.entity, visit, guarded), compileOptions);
    const rows = await write(statement, { id, versions, principal: visit.principal }, undefined, visit, 'delete');
    if (rows.length === 0) throw await missingOrChanged(visit, id, guarded);
    return noContent();
  }

  /** 412 when the record is there (so it has another version), else 404. */
  async function missingOrChanged(visit: Visit, id: string, guarded: boolean): Promise<ApiError> {
    if (!guarded) return recordNotFound();
    const plan = planRead(parseReadRequest('fields=id&expand=', config), visit.entity, visit);
    const rows = await run(compile(plan, compileOptions), { id, principal: visit.principal }, 'write', visit, 'read');
    return rows.length === 0 ? recordNotFound() : preconditionFailed();
  }

  /** Throws every mistake of a body at once, references that point nowhere among them. */
  async function refuse(details: readonly Detail[], values: Assignment, visit: Visit): Promise<void> {
    if (details.length > 0) throw validationFailed([...details, ...(await missingReferences(values, visit))]);
  }

  async function missingReferences(values: Assignment, visit: Visit): Promise<Detail[]> {
    const plan = planReferences(values, visit.entity, visit);
    if (plan === undefined) return [];
    const rows = await run(compile(plan, compileOptions), { principal: visit.principal }, 'read', visit, 'read');
    return rows.map(([field]) => ({
      field: field ?? null,
      code: 'REFERENCE_NOT_FOUND',
      message: 'refers to a record that does not exist',
    }));
  }

  /** Runs a write; deadlocks and serialization failures are repeated, as nothing of them was kept. */
  async function write(
    statement: Statement,
    inputs: Inputs,
    values: Assignment | undefined,
    visit: Visit,
    kind: WriteKind,
  ): Promise<readonly Row[]> {
    const bound = bindQuery(statement, inputs);
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.run(bound, 'write');
      } catch (error) {
        if (isStaleSnapshot(error)) throw error;
        if (isRetryable(error) && attempt < WRITE_ATTEMPTS) {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** attempt));
          continue;
        }
        if (sqlState(error) === '23503' && kind !== 'delete' && values !== undefined) {
          const details = await missingReferences(values, visit);
          if (details.length > 0) throw validationFailed(details);
        }
        throw translateError(error, visit.workspace, visit.entity.name, kind);
      }
    }
  }

  async function run(
    statement: Statement,
    inputs: Inputs,
    lane: Lane,
    visit: Visit,
    kind: WriteKind,
  ): Promise<readonly Row[]> {
    try {
      return await db.run(bindQuery(statement, inputs), lane, statement.cost);
    } catch (error) {
      if (isStaleSnapshot(error)) throw error;
      throw translateError(error, visit.workspace, visit.entity.name, kind);
    }
  }

  async function jsonBody(raw: RawRequest): Promise<unknown> {
    if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
    return parseBody(await raw.body(config.maxBodyBytes));
  }

  return Object.assign(handle, { operationOf });
}

function noSuchPath(workspace: Workspace): ApiError {
  const names = [...workspace.entities.keys()].slice(0, 50).join(', ') || 'none';
  return notFound(`Records are at /api/v1/{organization}/{workspace}/{entity}. Entities: ${names}`);
}

/** Row version and representation. With related records in it, the text itself is what tells two apart. */
function entityTag(version: string, statement: Statement, data: string): string {
  return `${version}.${statement.tag ?? hash('sha1', data, 'base64url')}`;
}

function estimateOf(rows: readonly Row[]): number {
  const [plan] = JSON.parse(rows[0]?.[0] ?? '[]') as { Plan: { 'Plan Rows': number } }[];
  return plan?.Plan['Plan Rows'] ?? 0;
}
