// Tools that write: each runs one request of the data API, which may need a person's confirmation. A confirmed change
// is executed once, and only on the version of the record that the person has seen.

import type { InternalRequest } from '../data-api/internal-request.ts';
import { badRequest } from '../errors.ts';
import { parseExact } from '../model/exact-json.ts';
import { getVersions, isCurrent, parseEntityTags } from '../request/conditions.ts';
import { isRecord, type Members } from '../request/members.ts';
import { type Reply, readBodyText } from '../response/reply.ts';
import { formatWorkspace } from './descriptions.ts';
import { confirmationRefused } from './errors.ts';
import { buildEntityPath, buildRecordPath, encodePart, formatData } from './paths.ts';
import type { Outcome, ToolContext } from './tool-context.ts';
import type { ToolName } from './tools.ts';

/** A write before its execution. */
interface Change {
  readonly tool: ToolName;
  readonly args: Readonly<Record<string, unknown>>;
  readonly request: InternalRequest;
  /** Request for the current record, for the preview, or undefined if it does not exist yet. */
  readonly read: InternalRequest | undefined;
  readonly title: string;
  /** Formats the lines of the preview. */
  readonly lines: (before: Readonly<Record<string, unknown>>) => readonly string[];
  readonly doneMessage: string;
}

// More than the fields of any entity.
const MAX_MEMBERS = 1000;
const MAX_LINES = 40;
const VALUE_CHARACTERS = 200;

export const formatValue = (value: unknown): string => {
  const text = value === undefined ? 'null' : JSON.stringify(value);
  return text.length <= VALUE_CHARACTERS ? text : `${text.slice(0, VALUE_CHARACTERS)}…`;
};

const toLines = (record: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(record).map(([name, value]) => `${name}: ${formatValue(value)}`);

export function createRecord({ members, text }: Members, toolContext: ToolContext): Promise<Outcome> {
  const entity = text('entity');
  const record = getRecord(members, 'record');
  const location = `${entity} in ${formatWorkspace(toolContext.agentContext.workspace)}`;
  return executeChange(toolContext, {
    tool: 'create_record',
    args: members,
    request: { method: 'POST', path: buildEntityPath(entity, toolContext), body: record },
    read: undefined,
    title: `Create a record of ${location}`,
    lines: () => toLines(record),
    doneMessage: 'Created.',
  });
}

export function updateRecord({ members, text, has }: Members, toolContext: ToolContext): Promise<Outcome> {
  const entity = text('entity');
  const changes = getRecord(members, 'changes');
  const path = buildRecordPath(entity, members.id, toolContext);
  const names = Object.keys(changes);
  const view = toolContext.agentContext.views.find((one) => one.entity.name === entity);
  // A field that grants let a user write need not be one that it can read.
  const isHidden = (name: string): boolean =>
    view !== undefined && !view.entity.fields.has(name) && view.entity.access?.writable.has(name) === true;
  const links = new Set(view?.updateLinks.map(({ name }) => name));
  const isExpanded = (name: string): boolean => links.has(name) && view?.relations.has(name) === true;
  const isShown = (name: string): boolean => (links.has(name) ? isExpanded(name) : !isHidden(name));
  const fields = names.filter(isShown).map((name) => (isExpanded(name) ? `${name}.id` : name));
  const format = (name: string, value: unknown): string => {
    if (!isShown(name)) return '?';
    return formatValue(isExpanded(name) && Array.isArray(value) ? value.map(({ id }) => id) : value);
  };
  return executeChange(toolContext, {
    tool: 'update_record',
    args: members,
    request: { method: 'PATCH', path, headers: has('ifMatch') ? { 'if-match': text('ifMatch') } : {}, body: changes },
    read: {
      method: 'GET',
      path,
      query: `expand=${encodePart(names.filter(isExpanded).join())}&fields=${encodePart(fields.join() || 'id')}`,
    },
    title: `Change ${path.split('/').slice(-2).join(' ')} in ${formatWorkspace(toolContext.agentContext.workspace)}`,
    lines: (before) => names.map((name) => `${name}: ${format(name, before[name])} -> ${formatValue(changes[name])}`),
    doneMessage: 'Changed.',
  });
}

export function deleteRecord({ members, text, has }: Members, toolContext: ToolContext): Promise<Outcome> {
  const path = buildRecordPath(text('entity'), members.id, toolContext);
  return executeChange(toolContext, {
    tool: 'delete_record',
    args: members,
    request: { method: 'DELETE', path, headers: has('ifMatch') ? { 'if-match': text('ifMatch') } : {} },
    read: { method: 'GET', path, query: 'expand=&fields=' },
    title: `Delete ${path.split('/').slice(-2).join(' ')} in ${formatWorkspace(toolContext.agentContext.workspace)}`,
    lines: toLines,
    doneMessage: 'Deleted.',
  });
}

export function getRecord(members: Members['members'], name: string): Readonly<Record<string, unknown>> {
  const record = members[name];
  if (!isRecord(record)) throw badRequest('INVALID_TOOL_ARGUMENTS', `${name} must be a JSON object of fields`);
  // Checked before the members are formatted.
  if (Object.keys(record).length > MAX_MEMBERS)
    throw badRequest('INVALID_TOOL_ARGUMENTS', `${name} has more than ${MAX_MEMBERS} members`);
  return record;
}

/** Executes the change, or returns the preview to confirm, unless the change would be refused as things are. */
async function executeChange(toolContext: ToolContext, change: Change): Promise<Outcome> {
  const { request, doneMessage } = change;
  if (toolContext.writes === 'on') return formatDone(await toolContext.execute(request), doneMessage, toolContext);
  const { confirmation: _, ...args } = change.args;
  const { confirmation, canElicit, subject, confirmations } = toolContext.confirmationState;
  if (confirmation === undefined) await toolContext.dryRun(request);
  const before = change.read === undefined ? undefined : await toolContext.execute(change.read);
  const version = before?.headers.ETag;
  const facts = [subject, canElicit, change.tool, args, version ?? null];
  if (confirmation === undefined) {
    const record = before === undefined ? {} : (parseExact(readBodyText(before.body)) as { data: Change['args'] }).data;
    const lines = change.lines(record);
    const more = lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : [];
    return {
      preview: [`${change.title}:`, ...[...lines.slice(0, MAX_LINES), ...more].map((line) => `  ${line}`)].join('\n'),
      confirmation: await confirmations.make(facts),
    };
  }
  if (!(await confirmations.check(confirmation, facts))) throw confirmationRefused();
  const reply = await toolContext.execute({
    ...request,
    headers: {
      ...request.headers,
      ...(version === undefined ? {} : { 'if-match': chooseIfMatch(request.headers?.['if-match'], version) }),
      // Executes it once, however often it is confirmed.
      'idempotency-key': `mcp-${confirmation}`,
    },
  });
  return formatDone(reply, doneMessage, toolContext);
}

/** Chooses the version that the person has seen, unless the call requires other ones: `*` would match any later one. */
function chooseIfMatch(ifMatch: string | undefined, version: string): string {
  const [currentVersion = ''] = getVersions([version.slice(1)]);
  return ifMatch === undefined || isCurrent(parseEntityTags(ifMatch), currentVersion) ? version : ifMatch;
}

function formatDone({ body, headers }: Reply, doneMessage: string, toolContext: ToolContext): string {
  if (body.kind !== 'text') return doneMessage;
  const etag = headers.ETag === undefined ? '' : `\netag: ${headers.ETag}`;
  const text = `${doneMessage} ${formatData(body.text, toolContext)}${etag}`;
  // The change is done, so an error would be wrong.
  return Buffer.byteLength(text) <= toolContext.maxBytes
    ? text
    : `${doneMessage} The record is too long to be shown here.${etag}`;
}
