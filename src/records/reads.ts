// List, query and read: one statement each, from the words of the call to its reply.

import type { Totals } from '../beside/totals.ts';
import type { Config } from '../config.ts';
import { recordNotFound, responseTooLarge } from '../errors.ts';
import { planList, planRead } from '../plan/plan.ts';
import type { RecordRow } from '../plan/result.ts';
import { parseId } from '../request/call.ts';
import { parseParameters } from '../request/parameters.ts';
import { parseQueryBody } from '../request/query-body.ts';
import { type ListRequest, parseListRequest, parseReadRequest } from '../request/record-request.ts';
import { type Representation, readReply } from '../response/entity-tag.ts';
import { listEnvelope } from '../response/envelope.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import {
  type Compiled,
  type CompileOptions,
  carefulOf,
  compile,
  compileEstimate,
  type Inputs,
} from '../sql/compile.ts';
import { entityTag } from './entity-tag.ts';
import type { PreparedList, PreparedRead, PreparedStatements } from './prepared.ts';
import { runRead, type Visit } from './visit.ts';

export interface ReadRooms {
  readonly config: Config;
  readonly totals: Pick<Totals, 'keep'>;
  readonly prepared: PreparedStatements;
  readonly compileOptions: CompileOptions;
}

// Counting so many records takes about as long as everything else about a list (0.3 ms); keeping their number costs
// each create and delete a little.
export const KEPT_FROM = 5000;

export function list(rooms: ReadRooms, visit: Visit): Promise<Reply> {
  const prepare = () => prepareList(rooms, parseListRequest(visit.call.query, rooms.config), visit);
  return runList(rooms, rooms.prepared.list(visit, prepare), visit);
}

export async function query(rooms: ReadRooms, visit: Visit): Promise<Reply> {
  parseParameters(visit.call.query, []);
  const request = parseQueryBody(await visit.call.body(), rooms.config);
  return runList(rooms, prepareList(rooms, request, visit), visit);
}

export async function read(rooms: ReadRooms, visit: Visit): Promise<Reply> {
  const id = parseId(visit.call.id);
  const { statement } = rooms.prepared.read(visit, () => prepareRead(rooms, visit));
  if (id === undefined) throw recordNotFound();
  const [row] = await runRead(visit, statement, { id, principal: visit.principal });
  const shown = representationOf(row, statement) ?? (await readCarefully(rooms, visit, statement, id));
  return readReply(shown, visit.call.conditions);
}

function prepareList({ compileOptions }: ReadRooms, request: ListRequest, visit: Visit): PreparedList {
  const plan = planList(request, visit.entity, visit);
  return {
    plan,
    statement: compile(plan, compileOptions),
    estimate: plan.count === 'estimated' ? compileEstimate(plan) : undefined,
  };
}

function prepareRead({ config, compileOptions }: ReadRooms, visit: Visit): PreparedRead {
  const plan = planRead(parseReadRequest(visit.call.query, config), visit.entity, visit);
  return { statement: compile(plan, compileOptions) };
}

async function runList(
  { config, totals }: ReadRooms,
  { statement, plan, estimate }: PreparedList,
  visit: Visit,
): Promise<Reply> {
  const inputs: Inputs = { principal: visit.principal };
  const [[page], estimated] = await Promise.all([
    runRead(visit, statement, inputs),
    estimate === undefined ? undefined : runRead(visit, estimate, inputs),
  ]);
  if (page === undefined) throw new TypeError('a page is always one row');
  const { data } = page;
  if (data === null) throw responseTooLarge(config.maxResponseBytes);
  if (page.isCounted && Number(page.total) >= KEPT_FROM) totals.keep(visit.entity);
  return jsonText(200, listEnvelope({ ...page, data }, plan, estimated?.[0]));
}

/**
 * The record as the statement shows it; undefined when it may be too large. 404 when it is not there, or not for the
 * principal.
 */
function representationOf(row: RecordRow | undefined, statement: Compiled<RecordRow>): Representation | undefined {
  if (row === undefined) throw recordNotFound();
  const { data, version } = row;
  return data === null ? undefined : { data, version, tag: entityTag(statement, version, data) };
}

/** Of a record without related ones only the careful text tells whether it is too large. */
async function readCarefully(
  { config }: Pick<ReadRooms, 'config'>,
  visit: Visit,
  statement: Compiled<RecordRow>,
  id: string,
): Promise<Representation> {
  const careful = statement.tag === undefined ? undefined : carefulOf(statement);
  if (careful === undefined) throw responseTooLarge(config.maxResponseBytes);
  const [row] = await runRead(visit, careful, { id, principal: visit.principal });
  const shown = representationOf(row, careful);
  if (shown === undefined) throw responseTooLarge(config.maxResponseBytes);
  return shown;
}
