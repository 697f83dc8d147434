// Rows of a feed -> JSON texts of its events. Images are JSON texts of PostgreSQL, passed on as they are.
import type { FeedView } from '../plan/feed.ts';
import type { FeedRow } from '../plan/result.ts';

/** Facts about the events of a page besides their rows. */
export interface EventContext {
  readonly views: readonly FeedView[];
  readonly toEventId: (seq: string) => string;
  readonly toTransactionId: (xid: string) => string;
  /** Returns the actor of a change as JSON text, or undefined where it is not shown. */
  readonly showActor: (actor: string | null) => string | undefined;
  readonly epoch: string;
}

const CAUSES: Readonly<Record<string, string>> = { i: 'created', u: 'changed', d: 'deleted' };

/** Types of events without values, by the kinds of changes. */
const TYPE_OF_KIND: Readonly<Record<string, string>> = { i: 'created', u: 'updated', d: 'removed' };

/** Returns the event of a row as JSON text. */
export function formatEvent(row: FeedRow, context: EventContext): string {
  const { views, toEventId, toTransactionId, showActor, epoch } = context;
  const view = views[row.view] as FeedView;
  const id = JSON.stringify(toEventId(row.seq));
  const entity = JSON.stringify(view.entity.name);
  if (isControl(row.kind)) return formatControl(row, TYPES[row.kind], id, entity);
  const isRedacted = !row.before && !row.after;
  const type = isRedacted ? TYPE_OF_KIND[row.kind ?? ''] : row.before ? (row.after ? 'updated' : 'removed') : 'created';
  const parts = [`"id":${id}`, `"type":"${type}"`];
  if (view.isWhole) parts.push(`"cause":"${CAUSES[row.kind ?? ''] ?? 'changed'}"`);
  parts.push(`"entity":${entity}`, `"recordId":${row.recordId}`, `"at":"${row.at}"`);
  parts.push(`"transaction":${JSON.stringify(toTransactionId(row.xid))}`);
  if (isRedacted) parts.push('"redacted":true');
  if (type === 'updated' && !isRedacted) parts.push(`"changed":[${row.changed ?? ''}]`);
  if (row.new !== null && row.after) parts.push(`"record":${row.new}`);
  const unknown = listUnknown(row, view);
  if (unknown.length > 0) parts.push(`"unknown":${JSON.stringify(unknown)}`);
  const previous = type === 'updated' ? row.previous : type === 'removed' ? row.old : null;
  if (previous !== null) parts.push(`"previous":${previous}`);
  if (row.after && row.new === null) parts.push('"truncated":true');
  if (row.after && row.actor !== null) parts.push(`"version":${JSON.stringify(formatVersion(row, epoch))}`);
  const actor = showActor(row.actor);
  if (actor !== undefined) parts.push(`"actor":${actor}`);
  return `{${parts.join()}}`;
}

/** Returns the names of the fields that are null because they had another type when the change was made. */
export function listUnknown({ unknown }: FeedRow, { fields }: Pick<FeedView, 'fields'>): readonly string[] {
  if (unknown === null) return [];
  const columns = new Set(JSON.parse(unknown) as readonly string[]);
  return fields.filter(({ column }) => columns.has(column)).map(({ name }) => name);
}

const TYPES = { t: 'reset', s: 'schema', x: 'ended' } as const;

/** Names of the events of a stream that come from changes. */
export type EventName = 'change' | (typeof TYPES)[keyof typeof TYPES];

const isControl = (kind: string | null): kind is keyof typeof TYPES => kind !== null && Object.hasOwn(TYPES, kind);

export const getEventName = ({ kind }: Pick<FeedRow, 'kind'>): EventName => (isControl(kind) ? TYPES[kind] : 'change');

/** Returns an event about the entity itself: its records changed without events, its definition changed, or it ended. */
function formatControl(row: FeedRow, type: string, id: string, entity: string): string {
  const members = row.kind === 't' ? '"reason":"truncated"' : (row.new ?? '{}').trim().slice(1, -1).trim();
  const parts = [`"id":${id}`, `"type":"${type}"`, `"entity":${entity}`, `"at":"${row.at}"`];
  return `{${[...parts, ...(members === '' ? [] : [members])].join()}}`;
}

const formatVersion = ({ version }: FeedRow, epoch: string): string => `${version}${epoch === '' ? '' : `-${epoch}`}`;
