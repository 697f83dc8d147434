// Tools that write all records that fit a filter. A person confirms their number: when others match by then, nothing is done.
import { parseExact } from '../model/exact-json.ts';
import type { Members } from '../request/members.ts';
import type { Reply } from '../response/reply.ts';
import { formatWorkspace } from './descriptions.ts';
import { confirmationRefused } from './errors.ts';
import { buildEntityPath } from './paths.ts';
import type { Outcome, ToolContext } from './tool-context.ts';
import type { ToolName } from './tools.ts';
import { formatValue, getRecord } from './write-tools.ts';

interface MatchingTool {
  readonly tool: ToolName;
  readonly tail: '_update' | '_delete';
  readonly verb: 'Change' | 'Delete';
  /** Lines of the preview about the new values. */
  readonly lines: readonly string[];
}

export const updateMatchingRecords = (members: Members, toolContext: ToolContext): Promise<Outcome> =>
  writeMatching(members, toolContext, {
    tool: 'update_matching_records',
    tail: '_update',
    verb: 'Change',
    lines: Object.entries(getRecord(members.members, 'set')).map(
      ([name, value]) => `${name}: -> ${formatValue(value)}`,
    ),
  });

export const deleteMatchingRecords = (members: Members, toolContext: ToolContext): Promise<Outcome> =>
  writeMatching(members, toolContext, { tool: 'delete_matching_records', tail: '_delete', verb: 'Delete', lines: [] });

/** Numbers of an answer; `id` of a job. A dry run of a job tells `matched` alone. */
interface Counts {
  readonly id?: unknown;
  readonly matched: unknown;
  readonly updated?: unknown;
  readonly deleted?: unknown;
}

async function writeMatching(
  { members, text }: Members,
  toolContext: ToolContext,
  { tool, tail, verb, lines }: MatchingTool,
): Promise<Outcome> {
  const { confirmation: _, ...args } = members;
  const { entity, ...body } = args;
  const path = `${buildEntityPath(text('entity'), toolContext)}/${tail}`;
  const request = { method: 'POST', path, body };
  if (toolContext.writes === 'on') return describeDone(await toolContext.execute(request), verb);
  const { confirmation, canElicit, subject, confirmations } = toolContext.confirmationState;
  const { matched, updated, deleted } = readCounts(await toolContext.execute({ ...request, query: 'dryRun=true' }));
  const facts = [subject, canElicit, tool, args, String(matched)];
  if (confirmation === undefined) {
    const title = `${verb} records of ${String(entity)} in ${formatWorkspace(toolContext.agentContext.workspace)}`;
    const count = updated ?? deleted;
    const counted = count === undefined ? `${matched}, as a job` : `${matched}, of which ${count} would be written`;
    const search = body.search === undefined ? [] : [`search: ${formatValue(body.search)}`];
    const all = [`filter: ${formatValue(body.filter)}`, ...search, `matching records: ${counted}`, ...lines];
    return {
      preview: [`${title}:`, ...all.map((line) => `  ${line}`)].join('\n'),
      confirmation: await confirmations.make(facts),
    };
  }
  if (!(await confirmations.check(confirmation, facts))) throw confirmationRefused();
  // Executes it once, and never more records than the person has seen.
  const headers = { 'idempotency-key': `mcp-${confirmation}` };
  const max = String(matched) === '0' ? body.max : matched;
  return describeDone(await toolContext.execute({ ...request, headers, body: { ...body, max } }), verb);
}

const readCounts = ({ body }: Reply): Counts =>
  (parseExact(body.kind === 'text' ? body.text : '{}') as { readonly data: Counts }).data;

function describeDone(reply: Reply, verb: MatchingTool['verb']): string {
  const { id, matched, updated, deleted } = readCounts(reply);
  return reply.status === 202
    ? `Job ${id} of the server was started, which goes on by itself: ${verb.toLowerCase()} ${matched} records.`
    : `${verb}d: ${updated ?? deleted} of ${matched} matching records.`;
}
