// Aggregates: one statement each, from the words of the call, or its body, to groups with what was summed up of them.
import { responseTooLarge } from '../errors.ts';
import { planAggregate } from '../plan/aggregate.ts';
import { type AggregateRequest, parseAggregateBody, parseAggregateRequest } from '../request/aggregate.ts';
import { parseParameters } from '../request/parameters.ts';
import { aggregateEnvelope } from '../response/envelope.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import type { PreparedAggregate } from './prepared.ts';
import { KEPT_FROM, type ReadRooms } from './reads.ts';
import { runRead, type Visit } from './visit.ts';

export function aggregate(rooms: ReadRooms, visit: Visit): Promise<Reply> {
  const prepare = () => prepareAggregate(rooms, parseAggregateRequest(visit.call.query), visit);
  return runAggregate(rooms, rooms.prepared.aggregate(visit, prepare), visit);
}

/** The same with a body, as a query is a list with one. */
export async function summarize(rooms: ReadRooms, visit: Visit): Promise<Reply> {
  parseParameters(visit.call.query, []);
  const request = parseAggregateBody(await visit.call.body());
  return runAggregate(rooms, prepareAggregate(rooms, request, visit), visit);
}

function prepareAggregate({ compileOptions }: ReadRooms, request: AggregateRequest, visit: Visit): PreparedAggregate {
  const plan = planAggregate(request, visit.entity, visit);
  return { plan, statement: compile(plan, compileOptions) };
}

async function runAggregate(
  { config, totals }: ReadRooms,
  { statement, plan }: PreparedAggregate,
  visit: Visit,
): Promise<Reply> {
  const [row] = await runRead(visit, statement, { principal: visit.principal });
  if (row === undefined) throw new TypeError('an aggregate is always one row');
  const { data, groups, counted } = row;
  if (data === null) throw responseTooLarge(config.maxResponseBytes);
  if (Number(counted) >= KEPT_FROM) totals.keep(visit.entity);
  return jsonText(200, aggregateEnvelope(data, Number(groups), plan));
}
