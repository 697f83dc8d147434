// Executes aggregates: one statement each, from the parameters or the body of the call to groups with their values.
import { responseTooLarge } from '../errors.ts';
import { planAggregate } from '../plan/aggregate.ts';
import { type AggregateRequest, parseAggregateBody, parseAggregateRequest } from '../request/aggregate.ts';
import { parseParameters } from '../request/query-string.ts';
import { aggregateEnvelope } from '../response/envelope.ts';
import { jsonText, type Reply } from '../response/reply.ts';
import { compile } from '../sql/compile.ts';
import type { EntityContext } from './context.ts';
import type { PreparedAggregate } from './prepared.ts';
import { MIN_STORED_TOTAL, type ReadDeps, runRead } from './reads.ts';

export function aggregate(deps: ReadDeps, context: EntityContext): Promise<Reply> {
  const prepare = () => prepareAggregate(deps, parseAggregateRequest(context.call.query), context);
  return runAggregate(deps, deps.prepared.aggregate(context, prepare), context);
}

/** Executes an aggregate whose parameters are in the body. */
export async function summarize(deps: ReadDeps, context: EntityContext): Promise<Reply> {
  parseParameters(context.call.query, []);
  const request = parseAggregateBody(await context.call.body());
  return runAggregate(deps, prepareAggregate(deps, request, context), context);
}

function prepareAggregate(
  { compileOptions }: ReadDeps,
  request: AggregateRequest,
  context: EntityContext,
): PreparedAggregate {
  const plan = planAggregate(request, context.entity, context);
  return { plan, statement: compile(plan, compileOptions) };
}

async function runAggregate(
  { config, totals }: ReadDeps,
  { statement, plan }: PreparedAggregate,
  context: EntityContext,
): Promise<Reply> {
  const [row] = await runRead(context, statement, { principal: context.principal });
  if (row === undefined) throw new TypeError('an aggregate is always one row');
  const { data, groups, recordCount: counted } = row;
  if (data === null) throw responseTooLarge(config.maxResponseBytes);
  if (Number(counted) >= MIN_STORED_TOTAL) totals.maintain(context.entity);
  return jsonText(200, aggregateEnvelope(data, Number(groups), plan));
}
