// Calls a tool: tool and arguments -> request of the data API -> text for the agent. Permissions are not decided here:
// each request is executed by the pipeline for the agent's principal.
import { badRequest } from '../errors.ts';
import { type Members, readMembers } from '../request/members.ts';
import { readBodyText } from '../response/reply.ts';
import { formatAccess, formatEntities, formatEntityList } from './descriptions.ts';
import { resultTooLarge } from './errors.ts';
import { deleteMatchingRecords, updateMatchingRecords } from './matching-tools.ts';
import { buildEntityPath, buildRecordPath, encodePart, formatData } from './paths.ts';
import type { Outcome, ToolContext } from './tool-context.ts';
import { TOOLS, type ToolName } from './tools.ts';
import { createRecord, deleteRecord, updateRecord } from './write-tools.ts';

const DEFAULT_ROWS = 20;
const DEFAULT_GROUPS = 100;
const MAX_DESCRIBED = 20;

/** Runs a tool. Throws API errors. */
export async function callTool(name: ToolName, args: unknown, toolContext: ToolContext): Promise<Outcome> {
  const { properties, required } = TOOLS[name];
  const members = readMembers(args ?? {}, Object.keys(properties), 'the arguments');
  const missing = required.find((argument) => !members.has(argument));
  if (missing !== undefined)
    throw badRequest('INVALID_TOOL_ARGUMENTS', `${missing} is missing: ${properties[missing]?.description}`);
  const outcome = await TOOL_HANDLERS[name](members, toolContext);
  const bytes = typeof outcome === 'string' ? Buffer.byteLength(outcome) : 0;
  if (bytes > toolContext.maxBytes) throw resultTooLarge(bytes, toolContext.maxBytes);
  return outcome;
}

type ToolHandler = (members: Members, toolContext: ToolContext) => Outcome | Promise<Outcome>;

const TOOL_HANDLERS: Readonly<Record<ToolName, ToolHandler>> = {
  list_entities: ({ has, text }, { agentContext }) =>
    formatEntityList(agentContext, has('search') ? text('search') : undefined),
  describe_entities({ strings }, { agentContext }) {
    const names = strings('entities');
    if (names.length === 0 || names.length > MAX_DESCRIBED) {
      throw badRequest('INVALID_TOOL_ARGUMENTS', `entities takes 1 to ${MAX_DESCRIBED} names`);
    }
    return formatEntities(agentContext, names);
  },
  async query_records(args, toolContext) {
    const size = readSize(args, DEFAULT_ROWS, 'after', toolContext);
    return formatData(await executeBody('_query', args, { size }, toolContext), toolContext);
  },
  async count_records(args, toolContext) {
    const countQuery = { size: 1, count: 'exact', fields: ['id'], expand: [] };
    const { meta } = JSON.parse(await executeBody('_query', args, countQuery, toolContext)) as {
      meta: { totalElements: number };
    };
    return String(meta.totalElements);
  },
  async aggregate_records(args, toolContext) {
    const size = readSize(args, DEFAULT_GROUPS, 'page', toolContext);
    return formatData(await executeBody('_aggregate', args, { size }, toolContext), toolContext);
  },
  async read_record({ members, text, strings }, toolContext) {
    const path = buildRecordPath(text('entity'), members.id, toolContext);
    const query = ['expand', 'fields'].flatMap((name) =>
      members[name] === undefined || members[name] === null ? [] : [`${name}=${encodePart(strings(name).join())}`],
    );
    const { body, headers } = await toolContext.execute({ method: 'GET', path, query: query.join('&') });
    const record = formatData(readBodyText(body), toolContext);
    return headers.ETag === undefined ? record : `${record}\netag: ${headers.ETag}`;
  },
  async read_history(args, toolContext) {
    const { members, text, has } = args;
    const path = `${buildRecordPath(text('entity'), members.id, toolContext)}/_history`;
    const after = has('after') ? `&after=${encodePart(text('after'))}` : '';
    const query = `size=${readSize(args, DEFAULT_ROWS, 'after', toolContext)}${after}`;
    const { body } = await toolContext.execute({ method: 'GET', path, query });
    return formatData(readBodyText(body), toolContext);
  },
  create_record: createRecord,
  update_record: updateRecord,
  delete_record: deleteRecord,
  update_matching_records: updateMatchingRecords,
  delete_matching_records: deleteMatchingRecords,
  explain_access: ({ has, text }, { agentContext }) =>
    formatAccess(agentContext, has('entity') ? text('entity') : undefined),
};

/** Reads the size of a page, at most that of agents. `next`: argument that leads to the next page. */
function readSize({ has, integer }: Members, size: number, next: string, { maxRows }: ToolContext): number {
  if (!has('size')) return Math.min(size, maxRows);
  const digits = integer('size');
  if (/^\d+$/.test(digits) && Number(digits) > maxRows)
    throw badRequest('INVALID_TOOL_ARGUMENTS', `size is ${maxRows} at most here; ask for the next page by ${next}`);
  return Number(digits);
}

/** Executes `_query` or `_aggregate` with the arguments and these members, and returns the JSON text of its response. */
async function executeBody(
  operation: '_query' | '_aggregate',
  { members, text }: Members,
  fixed: Readonly<Record<string, unknown>>,
  toolContext: ToolContext,
): Promise<string> {
  const { entity: _, ...query } = members;
  const path = `${buildEntityPath(text('entity'), toolContext)}/${operation}`;
  const reply = await toolContext.execute({ method: 'POST', path, body: { ...query, ...fixed } });
  return readBodyText(reply.body);
}
