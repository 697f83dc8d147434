// Create, update and delete: one statement each that checks whatever could change between a look and a write. Nothing
// of a record that the principal cannot see shows in an answer: it is absent, as a target and as a reference.
import { LRUCache } from 'lru-cache';
import { isRetryable, isStaleSnapshot, sqlState, translateError, type WriteKind } from '../db/pg-error.ts';
import type { Row } from '../db/pool.ts';
import {
  type ApiError,
  type Detail,
  preconditionFailed,
  recordNotFound,
  serviceUnavailable,
  validationFailed,
} from '../errors.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import {
  type CreatePlan,
  type DeletePlan,
  planCreate,
  planDelete,
  planRead,
  planReferences,
  planUpdate,
  type UpdatePlan,
} from '../plan/plan.ts';
import { foreignColumn, stampedColumns } from '../plan/row-policy.ts';
import { guardOf } from '../request/conditions.ts';
import { parseId } from '../request/record-path.ts';
import { parseParameters, parseReadRequest } from '../request/record-request.ts';
import { recordEnvelope } from '../response/envelope.ts';
import { jsonText, noContent, type Reply } from '../response/reply.ts';
import { bindQuery, compile, type Inputs, type Statement, sizeOf } from '../sql/compile.ts';
import { entityTag, jsonBody, type OperationRooms, runFor, type Visit, workOf } from './visit.ts';

export interface RecordWrites {
  readonly create: (visit: Visit) => Promise<Reply>;
  readonly update: (visit: Visit, idText: string) => Promise<Reply>;
  readonly remove: (visit: Visit, idText: string) => Promise<Reply>;
}

/** What a write gives, in the form that its references are looked up by. */
type WriteBody =
  | { readonly operation: 'create'; readonly values: Assignment }
  | { readonly operation: 'update'; readonly values: Assignment; readonly id: string };

const WRITE_ATTEMPTS = 4;
// Compiled writes by what decides their text: the entity and the columns given. An entry is some 2 kB, of an entity of 500
// fields 50.
const MAX_SHAPES = 2000;
const MAX_SHAPES_BYTES = 16_777_216;

export function makeRecordWrites({ config, db }: OperationRooms): RecordWrites {
  const compileOptions = { maxResponseBytes: config.maxResponseBytes };

  const shapes = new LRUCache<string, Statement>({
    max: MAX_SHAPES,
    maxSize: MAX_SHAPES_BYTES,
    sizeCalculation: (statement, key) => sizeOf(statement) + key.length,
  });

  /** The statement of a write. Rendering it anew for each request would cost 7 µs, twice the checking of its body. */
  function compileWrite(
    plan: CreatePlan | UpdatePlan | DeletePlan,
    { workspace, entity, principal }: Visit,
  ): Statement {
    const columns = plan.kind === 'delete' ? '' : [...plan.values.keys()].join();
    const guarded = plan.kind !== 'create' && plan.guarded;
    const key = `${plan.kind} ${principal.kind} ${workspace.id}.${workspace.version} ${entity.name} ${guarded} ${columns}`;
    let statement = shapes.get(key);
    if (statement === undefined) {
      statement = compile(plan, compileOptions);
      shapes.set(key, statement);
    }
    return statement;
  }

  async function create(visit: Visit): Promise<Reply> {
    parseParameters(visit.raw.query, []);
    const { values, details } = planAssignment(
      await jsonBody(visit.raw, config.maxBodyBytes),
      visit.entity,
      undefined,
      stampedColumns(visit.entity, visit.principal),
    );
    const body: WriteBody = { operation: 'create', values };
    await refuse(details, body, visit);
    const plan = planCreate(values, visit.entity, visit);
    const statement = compileWrite(plan, visit);
    const written: WriteBody = { operation: 'create', values: plan.values };
    const inputs: Inputs = { body: plan.values, principal: visit.principal };
    const rows = await write(statement, inputs, visit, 'create', written, async () => undefined);
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
    const { values, details } = planAssignment(await jsonBody(visit.raw, config.maxBodyBytes), visit.entity, id ?? '0');
    const body: WriteBody = { operation: 'update', values, id: id ?? '0' };
    await refuse(details, body, visit);
    if (id === undefined) throw recordNotFound();
    // A record of somebody else does not exist, whatever is asked of it.
    const isForeign = foreignColumn(visit.entity, visit.principal, values) !== undefined;
    if (isForeign && (await versionOf(visit, id)) === undefined) throw recordNotFound();
    const { guarded, versions } = guardOf(visit.raw.headers['if-match']);
    const statement = compileWrite(planUpdate(values, visit.entity, visit, guarded), visit);
    const inputs: Inputs = { id, body: values, versions, principal: visit.principal };
    const rows = await write(statement, inputs, visit, 'update', body, () =>
      missingOrChanged(visit, id, guarded ? versions : undefined),
    );
    const [data, version] = rows[0] as [string, string];
    return jsonText(200, recordEnvelope(data), { ETag: `"${entityTag(version, statement, data)}"` });
  }

  async function remove(visit: Visit, idText: string): Promise<Reply> {
    const id = parseId(idText);
    parseParameters(visit.raw.query, []);
    if (id === undefined) throw recordNotFound();
    const { guarded, versions } = guardOf(visit.raw.headers['if-match']);
    const statement = compileWrite(planDelete(visit.entity, visit, guarded), visit);
    const inputs: Inputs = { id, versions, principal: visit.principal };
    await write(statement, inputs, visit, 'delete', undefined, () =>
      missingOrChanged(visit, id, guarded ? versions : undefined),
    );
    return noContent();
  }

  /** 404 when the record is not there, 412 when it has none of the versions asked for. */
  async function missingOrChanged(
    visit: Visit,
    id: string,
    versions: readonly string[] | undefined,
  ): Promise<ApiError | undefined> {
    const version = await versionOf(visit, id);
    if (version === undefined) return recordNotFound();
    return versions === undefined || versions.includes(version) ? undefined : preconditionFailed();
  }

  /** Version of a record that the principal can see; undefined when there is none. */
  async function versionOf(visit: Visit, id: string): Promise<string | undefined> {
    const plan = planRead(parseReadRequest('fields=id&expand=', config), visit.entity, visit);
    const rows = await runFor(
      visit,
      db,
      compile(plan, compileOptions),
      { id, principal: visit.principal },
      'write',
      'read',
    );
    return rows[0]?.[1] ?? undefined;
  }

  /** Throws every mistake of a body at once, references that point nowhere among them. */
  async function refuse(details: readonly Detail[], body: WriteBody, visit: Visit): Promise<void> {
    if (details.length > 0) throw validationFailed([...details, ...(await missingReferences(body, visit))]);
  }

  async function missingReferences(body: WriteBody, visit: Visit): Promise<Detail[]> {
    const plan = planReferences(body.values, visit.entity, visit, body.operation);
    if (plan === undefined) return [];
    const inputs: Inputs = {
      body: body.values,
      principal: visit.principal,
      ...(body.operation === 'update' ? { id: body.id } : {}),
    };
    const rows = await runFor(visit, db, compile(plan, compileOptions), inputs, 'write', 'read');
    return rows.map(([field]) => ({
      field: field ?? null,
      code: 'REFERENCE_NOT_FOUND',
      message: 'refers to a record that does not exist',
    }));
  }

  /**
   * Runs a write until it has written a row. Deadlocks and serialization failures are repeated, as nothing of them was
   * kept. When no row was written `absence` says why, else a reference does; a reason that has gone meanwhile is a
   * reason to try again.
   */
  async function write(
    statement: Statement,
    inputs: Inputs,
    visit: Visit,
    kind: WriteKind,
    body: WriteBody | undefined,
    absence: () => Promise<ApiError | undefined>,
  ): Promise<readonly Row[]> {
    const bound = bindQuery(statement, inputs);
    // A write of one record is quick until it shows otherwise.
    statement.cost.isQuick ??= true;
    const work = workOf(visit, statement.cost);
    for (let attempt = 1; ; attempt++) {
      try {
        const rows = await db.run(bound, 'write', work);
        if (rows.length > 0) return rows;
      } catch (error) {
        if (isStaleSnapshot(error)) throw error;
        if (isRetryable(error) && attempt < WRITE_ATTEMPTS) {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** attempt));
          continue;
        }
        if (sqlState(error) === '23503' && body !== undefined) {
          const details = await missingReferences(body, visit);
          if (details.length > 0) throw validationFailed(details);
        }
        throw translateError(error, visit.workspace, visit.entity.name, kind);
      }
      const refusal = await absence();
      if (refusal !== undefined) throw refusal;
      const details = body === undefined ? [] : await missingReferences(body, visit);
      if (details.length > 0) throw validationFailed(details);
      if (attempt >= WRITE_ATTEMPTS) throw serviceUnavailable('The record is changing at the moment; retry');
    }
  }

  return { create, update, remove };
}
