// The tools that write: a request of the data API each, which may wait for a person's yes. What is confirmed is done once,
// and only to the version of the record that the person was shown.
import { badRequest } from '../errors.ts';
import { parseExact } from '../model/exact-json.ts';
import type { InternalRequest } from '../records/internal-request.ts';
import { isCurrent, parseEntityTags, versionsOf } from '../request/conditions.ts';
import { isRecord, type Members } from '../request/members.ts';
import type { Reply } from '../response/reply.ts';
import type { Desk, Outcome } from './desk.ts';
import { confirmationRefused } from './errors.ts';
import { dataText, entityPath, part, recordPath } from './paths.ts';
import type { ToolName } from './tools.ts';
import { placeOf } from './words.ts';

/** A write before it is done. */
interface Change {
  readonly tool: ToolName;
  readonly args: Readonly<Record<string, unknown>>;
  readonly asked: InternalRequest;
  /** The record as it is, for the words; undefined: there is none yet. */
  readonly read: InternalRequest | undefined;
  readonly title: string;
  /** Lines for a person. */
  readonly lines: (before: Readonly<Record<string, unknown>>) => readonly string[];
  readonly done: string;
}

// More than the fields of any entity.
const MAX_MEMBERS = 1000;
const MAX_LINES = 40;
const VALUE_CHARACTERS = 200;

const valueText = (value: unknown): string => {
  const text = value === undefined ? 'null' : JSON.stringify(value);
  return text.length <= VALUE_CHARACTERS ? text : `${text.slice(0, VALUE_CHARACTERS)}…`;
};

const linesOf = (record: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(record).map(([name, value]) => `${name}: ${valueText(value)}`);

export function createRecord({ members, text }: Members, desk: Desk): Promise<Outcome> {
  const entity = text('entity');
  const record = recordOf(members, 'record');
  const place = `${entity} in ${placeOf(desk.standpoint.workspace)}`;
  return change(desk, {
    tool: 'create_record',
    args: members,
    asked: { method: 'POST', path: entityPath(entity, desk), body: record },
    read: undefined,
    title: `Create a record of ${place}`,
    lines: () => linesOf(record),
    done: 'Created.',
  });
}

export function updateRecord({ members, text, has }: Members, desk: Desk): Promise<Outcome> {
  const entity = text('entity');
  const changes = recordOf(members, 'changes');
  const path = recordPath(entity, members.id, desk);
  const names = Object.keys(changes);
  return change(desk, {
    tool: 'update_record',
    args: members,
    asked: { method: 'PATCH', path, headers: has('ifMatch') ? { 'if-match': text('ifMatch') } : {}, body: changes },
    read: { method: 'GET', path, query: `expand=&fields=${part(names.join())}` },
    title: `Change ${path.split('/').slice(-2).join(' ')} in ${placeOf(desk.standpoint.workspace)}`,
    lines: (before) => names.map((name) => `${name}: ${valueText(before[name])} -> ${valueText(changes[name])}`),
    done: 'Changed.',
  });
}

export function deleteRecord({ members, text, has }: Members, desk: Desk): Promise<Outcome> {
  const path = recordPath(text('entity'), members.id, desk);
  return change(desk, {
    tool: 'delete_record',
    args: members,
    asked: { method: 'DELETE', path, headers: has('ifMatch') ? { 'if-match': text('ifMatch') } : {} },
    read: { method: 'GET', path, query: 'expand=&fields=' },
    title: `Delete ${path.split('/').slice(-2).join(' ')} in ${placeOf(desk.standpoint.workspace)}`,
    lines: linesOf,
    done: 'Deleted.',
  });
}

function recordOf(members: Members['members'], name: string): Readonly<Record<string, unknown>> {
  const record = members[name];
  if (!isRecord(record)) throw badRequest('INVALID_TOOL_ARGUMENTS', `${name} must be a JSON object of fields`);
  // Before all of them are put in words.
  if (Object.keys(record).length > MAX_MEMBERS)
    throw badRequest('INVALID_TOOL_ARGUMENTS', `${name} has more than ${MAX_MEMBERS} members`);
  return record;
}

/** Does the change, or says what is to be confirmed. */
async function change(desk: Desk, wanted: Change): Promise<Outcome> {
  const { asked, done } = wanted;
  if (desk.writes === 'on') return doneText(await desk.ask(asked), done, desk);
  const before = wanted.read === undefined ? undefined : await desk.ask(wanted.read);
  const version = before?.headers.ETag;
  const { confirmation: _, ...args } = wanted.args;
  const { given, canAsk, whose, confirmations } = desk.confirming;
  const facts = [whose, canAsk, wanted.tool, args, version ?? null];
  if (given === undefined) {
    const record = before?.body.kind === 'text' ? (parseExact(before.body.text) as { data: Change['args'] }).data : {};
    const lines = wanted.lines(record);
    const more = lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : [];
    return {
      preview: [`${wanted.title}:`, ...[...lines.slice(0, MAX_LINES), ...more].map((line) => `  ${line}`)].join('\n'),
      confirmation: await confirmations.make(facts),
    };
  }
  if (!(await confirmations.check(given, facts))) throw confirmationRefused();
  const reply = await desk.ask({
    ...asked,
    headers: {
      ...asked.headers,
      ...(version === undefined ? {} : { 'if-match': narrower(asked.headers?.['if-match'], version) }),
      // So it is done once, however often it is confirmed.
      'idempotency-key': `mcp-${given}`,
    },
  });
  return doneText(reply, done, desk);
}

/** The version that the person was shown, unless the call asks for others alone: `*` would be whatever comes between. */
function narrower(ifMatch: string | undefined, version: string): string {
  const [shown = ''] = versionsOf([version.slice(1)]);
  return ifMatch === undefined || isCurrent(parseEntityTags(ifMatch), shown) ? version : ifMatch;
}

function doneText({ body, headers }: Reply, done: string, desk: Desk): string {
  if (body.kind !== 'text') return done;
  const etag = headers.ETag === undefined ? '' : `\netag: ${headers.ETag}`;
  const text = `${done} ${dataText(body.text, desk)}${etag}`;
  // It is done, so a refusal would be a lie.
  return Buffer.byteLength(text) <= desk.maxBytes ? text : `${done} The record is too long to be shown here.${etag}`;
}
