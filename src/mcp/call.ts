// A tool with its arguments -> the request of the data API that does it -> the text that the agent gets. Nothing here
// decides who may do what: each request is answered by the pipeline for the principal who asks.
import { badRequest } from '../errors.ts';
import { type Members, readMembers } from '../request/members.ts';
import type { Desk, Outcome } from './desk.ts';
import { resultTooLarge } from './errors.ts';
import { dataText, entityPath, part, recordPath } from './paths.ts';
import { TOOLS, type ToolName } from './tools.ts';
import { accessText, describeText, listText } from './words.ts';
import { createRecord, deleteRecord, updateRecord } from './writing.ts';

const DEFAULT_ROWS = 20;
const MAX_DESCRIBED = 20;

/** Throws refusals. */
export async function callTool(name: ToolName, args: unknown, desk: Desk): Promise<Outcome> {
  const members = readMembers(args ?? {}, Object.keys(TOOLS[name].properties), 'the arguments');
  for (const needed of TOOLS[name].required)
    if (!members.has(needed)) throw badRequest('INVALID_TOOL_ARGUMENTS', `${needed} is missing`);
  const outcome = await USES[name](members, desk);
  const bytes = typeof outcome === 'string' ? Buffer.byteLength(outcome) : 0;
  if (bytes > desk.maxBytes) throw resultTooLarge(bytes, desk.maxBytes);
  return outcome;
}

type Use = (members: Members, desk: Desk) => Outcome | Promise<Outcome>;

const USES: Readonly<Record<ToolName, Use>> = {
  list_entities: ({ has, text }, { standpoint }) => listText(standpoint, has('search') ? text('search') : undefined),
  describe_entities({ strings }, { standpoint }) {
    const names = strings('entities');
    if (names.length === 0 || names.length > MAX_DESCRIBED) {
      throw badRequest('INVALID_TOOL_ARGUMENTS', `entities takes 1 to ${MAX_DESCRIBED} names`);
    }
    return describeText(standpoint, names);
  },
  async query_records({ members, has, text, integer }, desk) {
    const size = has('size') ? integer('size') : String(Math.min(DEFAULT_ROWS, desk.maxRows));
    if (/^\d+$/.test(size) && Number(size) > desk.maxRows) {
      throw badRequest(
        'INVALID_TOOL_ARGUMENTS',
        `size is ${desk.maxRows} at most here; ask for the next page by after`,
      );
    }
    const { entity: _, ...query } = members;
    return dataText(await askQuery(text('entity'), { ...query, size: Number(size) }, desk), desk);
  },
  async count_records({ members, text }, desk) {
    const { entity: _, ...query } = members;
    const asked = { ...query, size: 1, count: 'exact', fields: ['id'], expand: [] };
    const { meta } = JSON.parse(await askQuery(text('entity'), asked, desk)) as { meta: { totalElements: number } };
    return String(meta.totalElements);
  },
  async read_record({ members, text, strings }, desk) {
    const path = recordPath(text('entity'), members.id, desk);
    const query = ['expand', 'fields'].flatMap((name) =>
      members[name] === undefined || members[name] === null ? [] : [`${name}=${part(strings(name).join())}`],
    );
    const { body, headers } = await desk.ask({ method: 'GET', path, query: query.join('&') });
    const record = dataText(body.kind === 'text' ? body.text : '', desk);
    return headers.ETag === undefined ? record : `${record}\netag: ${headers.ETag}`;
  },
  create_record: createRecord,
  update_record: updateRecord,
  delete_record: deleteRecord,
  explain_access: ({ has, text }, { standpoint }) => accessText(standpoint, has('entity') ? text('entity') : undefined),
};

/** The JSON text of the answer to `_query`. */
async function askQuery(entity: string, body: Readonly<Record<string, unknown>>, desk: Desk): Promise<string> {
  const reply = await desk.ask({ method: 'POST', path: `${entityPath(entity, desk)}/_query`, body });
  return reply.body.kind === 'text' ? reply.body.text : '';
}
