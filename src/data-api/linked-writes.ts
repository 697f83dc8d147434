// Executes writes with many-to-many relations in the body: in one transaction the ordinary write of the records, then the
// changes of their links.
import type { Executor } from '../database/pool.ts';
import { ApiError, type Detail, validationFailed } from '../errors.ts';
import { runInSlices } from '../http/body.ts';
import { countIds, hasLinks, splitLinks } from '../plan/links.ts';
import { isRecord } from '../request/members.ts';
import { parseQueryString } from '../request/query-string.ts';
import type { Reply } from '../response/reply.ts';
import type { WriteManyDeps } from './bulk.ts';
import { sortDetails } from './bulk-errors.ts';
import type { EntityContext } from './context.ts';
import { linksNotSkipped, tooManyLinks } from './errors.ts';
import { inTransaction } from './exchange.ts';
import { changeLinks, findLinkMistakes, MAX_LINKS, type RecordLinks } from './links.ts';
import { parseResponse } from './transaction.ts';
import { retryWrite } from './write-retry.ts';

/** Signals that the body has links, so that the write needs a transaction. */
export class WriteWithLinks extends Error {
  readonly body: unknown;
  readonly items: readonly RecordLinks[];

  constructor(body: unknown, items: readonly RecordLinks[]) {
    super('the body of the write has links');
    this.name = 'WriteWithLinks';
    this.body = body;
    this.items = items;
  }
}

/**
 * Runs a write of one record or many. When the body has links, `write` runs again in a transaction, with a body without
 * them. Throws WriteWithLinks when the call has a key that only a single statement stores.
 */
export async function writeLinked<C extends EntityContext>(
  deps: WriteManyDeps,
  context: C,
  write: (context: C) => Promise<Reply>,
): Promise<Reply> {
  const { call, entity, key } = context;
  if (!hasLinks(entity)) return write(context);
  const readBody: typeof call.body = async (form) => {
    const body = await call.body(form);
    const split = await splitBody(body, context);
    if (split !== undefined) throw split;
    return body;
  };
  try {
    return await write({ ...context, call: { ...call, body: readBody } });
  } catch (error) {
    if (!(error instanceof WriteWithLinks) || key !== undefined) throw error;
    return writeBoth(deps, context, error, write);
  }
}

async function splitBody(body: unknown, context: EntityContext): Promise<WriteWithLinks | undefined> {
  const { call, entity, request, signal } = context;
  if (!isOfMany(context)) {
    const parts = isRecord(body) ? splitLinks(body, entity, context, call.operation === 'update') : undefined;
    return parts && new WriteWithLinks(parts.members, [{ ...parts, index: 0 }]);
  }
  if (!isRecord(body) || !Array.isArray(body.data)) return undefined;
  const total = body.data.reduce((sum: number, one) => sum + (isRecord(one) ? countIds(one, entity) : 0), 0);
  if (total > MAX_LINKS) throw tooManyLinks(total, MAX_LINKS);
  const { data, items } = await runInSlices(splitRecords(body.data, context), request.slices, signal);
  if (items.length === 0) return undefined;
  if (getParameter(call.query, 'conflict') === 'skip') throw linksNotSkipped();
  return new WriteWithLinks({ ...body, data }, items);
}

/** Splits the records one by one, in slices. */
function* splitRecords(
  records: readonly unknown[],
  context: EntityContext,
): Generator<undefined, { readonly data: readonly unknown[]; readonly items: readonly RecordLinks[] }> {
  const items: RecordLinks[] = [];
  const data: unknown[] = [];
  const isUpdate = context.call.operation === 'bulkUpdate';
  for (const [index, record] of records.entries()) {
    yield undefined;
    const parts = isRecord(record) ? splitLinks(record, context.entity, context, isUpdate) : undefined;
    if (parts !== undefined) items.push({ ...parts, index });
    data.push(parts?.members ?? record);
  }
  return { data, items };
}

const isOfMany = ({ call }: EntityContext): boolean =>
  call.operation === 'bulkCreate' || call.operation === 'bulkUpdate';

const getParameter = (query: string, parameter: string): string | undefined =>
  parseQueryString(query).find(({ name }) => name === parameter)?.value;

async function writeBoth<C extends EntityContext>(
  deps: WriteManyDeps,
  context: C,
  { body, items }: WriteWithLinks,
  write: (context: C) => Promise<Reply>,
): Promise<Reply> {
  const { call } = context;
  const isMany = isOfMany(context);
  const locate = (index: number, detail: Detail): Detail => (isMany ? { index, ...detail } : detail);
  const run = async (executor: Executor): Promise<Reply> => {
    const inside: C = { ...context, executor, call: { ...call, body: async () => body } };
    const mistakes = await findLinkMistakes(deps, inside, items, locate);
    const reply = await write(inside).catch((error) => {
      throw addMistakes(error, mistakes);
    });
    if (mistakes.length > 0) throw validationFailed(mistakes);
    // An upsert that leaves an existing record as it is leaves its links, too.
    if (reply.status === 200 && getParameter(call.query, 'conflict') === 'skip') return reply;
    const ids = await readIds(reply, inside);
    const changed = items.map(({ index, links }) => ({
      id: ids[index] as string,
      links,
      name: (one: Detail) => locate(index, one),
    }));
    await changeLinks(deps, inside, changed, reply.status === 201 ? 'new' : 'free');
    return reply;
  };
  const isDryRun = getParameter(call.query, 'dryRun') === 'true';
  const attempt = () => retryWrite(context, () => inTransaction(deps, context, isDryRun, run));
  try {
    return await attempt();
  } catch (error) {
    // Another request may have linked the same records meanwhile, from the other side; the next attempt sees it.
    const isRace = error instanceof ApiError && error.reason === 'NOT_UNIQUE' && !context.executor.isTransaction;
    if (!isRace) throw error;
    return attempt();
  }
}

async function readIds({ body }: Reply, context: EntityContext): Promise<readonly string[]> {
  if (body.kind !== 'text') throw new TypeError('a write answers with text');
  const { data } = (await parseResponse(body.text, context)) as { readonly data: unknown };
  return [data].flat().map((record) => String((record as { readonly id: unknown }).id));
}

/** Returns the error of the write with the mistakes in its links. Errors of rights and of the database stay alone. */
function addMistakes(error: unknown, mistakes: readonly Detail[]): unknown {
  if (mistakes.length === 0 || !(error instanceof ApiError)) return error;
  if (error.reason === 'VALIDATION_FAILED')
    return validationFailed(sortDetails([...(error.details ?? []), ...mistakes]));
  return [404, 409, 412].includes(error.status) ? validationFailed(mistakes) : error;
}
