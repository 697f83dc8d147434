// Rows of a feed -> JSON texts of its events. Images are JSON texts of PostgreSQL, passed on as they are.
import type { Entity } from '../model/entity.ts';
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
  const id = `"${toEventId(row.seq)}"`;
  if (isControl(row.kind)) return formatControl(row, view, id, TYPES[row.kind]);
  const isRedacted = !row.before && !row.after;
  const type = getEventType(row);
  // One text that grows: a list of parts took twice as long.
  let text = `{"id":${id},"type":"${type}"`;
  if (view.isWhole) text += `,"cause":"${CAUSES[row.kind ?? ''] ?? 'changed'}"`;
  text += `,"entity":${JSON.stringify(view.entity.name)},"recordId":${row.recordId},"at":"${row.at}"`;
  text += `,"transaction":"${toTransactionId(row.xid)}"`;
  if (isRedacted) text += ',"redacted":true';
  if (type === 'updated' && !isRedacted) text += `,"changed":[${row.changed ?? ''}]`;
  if (row.new !== null && row.after) text += `,"record":${row.new}`;
  if (row.unknown !== null) {
    const unknown = listUnknown(row, view);
    if (unknown.length > 0) text += `,"unknown":${JSON.stringify(unknown)}`;
  }
  const previous = type === 'updated' ? row.previous : type === 'removed' ? row.old : null;
  if (previous !== null) text += `,"previous":${previous}`;
  if (row.after && row.new === null) text += ',"truncated":true';
  if (row.after && row.actor !== null && row.version !== null) text += `,"version":"${formatVersion(row, epoch)}"`;
  const actor = showActor(row.actor);
  return actor === undefined ? `${text}}` : `${text},"actor":${actor}}`;
}

/** Returns the names of the fields that are null because they had another type when the change was made. */
export function listUnknown({ unknown }: FeedRow, { fields }: Pick<FeedView, 'fields'>): readonly string[] {
  if (unknown === null) return [];
  const columns = new Set(JSON.parse(unknown) as readonly string[]);
  return fields.filter(({ column }) => columns.has(column)).map(({ name }) => name);
}

/** Returns the type of the event of a row. */
export function getEventType({ kind, before, after }: Pick<FeedRow, 'kind' | 'before' | 'after'>): string {
  if (isControl(kind)) return TYPES[kind];
  if (!before && !after) return TYPE_OF_KIND[kind ?? ''] ?? '';
  return before ? (after ? 'updated' : 'removed') : 'created';
}

const TYPES = { t: 'reset', b: 'reset', g: 'reset', s: 'schema', x: 'ended' } as const;

/** Names of the events of a stream that come from changes. */
export type EventName = 'change' | (typeof TYPES)[keyof typeof TYPES];

const isControl = (kind: string | null): kind is keyof typeof TYPES => kind !== null && Object.hasOwn(TYPES, kind);

export const getEventName = ({ kind }: Pick<FeedRow, 'kind'>): EventName => (isControl(kind) ? TYPES[kind] : 'change');

/** Returns an event about the entity itself: its records changed without events, its definition changed, or it ended. */
function formatControl(row: FeedRow, view: FeedView, id: string, type: string): string {
  const { name } = view.entity;
  const members = row.kind === 't' ? { reason: 'truncated' } : selectMembers(row, view);
  return `{"id":${id},${JSON.stringify({ type, entity: name, at: row.at, ...members }).slice(1)}`;
}

/** Returns what the principal may see of a stored event: no number of records and no name of a field that is hidden. */
function selectMembers({ kind, new: text }: FeedRow, { entity, isWhole }: FeedView): object {
  const members = JSON.parse(text ?? '{}');
  if (kind === 'b' && !isWhole) return { reason: members.reason };
  return kind === 's' ? selectFields(members, entity) : members;
}

/** Fields of an entity by their names in the document, as a migration has changed them. */
interface ChangedFields {
  /** Former name of the entity, if it was renamed. */
  readonly entityBefore?: string;
  /** New names by the former ones. */
  readonly renamed: Readonly<Record<string, string>>;
  readonly added: readonly string[];
  readonly dropped: readonly string[];
  readonly retyped: readonly string[];
}

/** Returns what a user whom grants limit may know: fields that it reads. Whether it has read a dropped one is not known. */
function selectFields(changed: ChangedFields, { access, fields }: Entity): ChangedFields {
  if (access === undefined) return changed;
  const isReadable = (name: string): boolean => fields.has(name);
  return {
    ...changed,
    renamed: Object.fromEntries(Object.entries(changed.renamed).filter(([, name]) => isReadable(name))),
    added: changed.added.filter(isReadable),
    dropped: [],
    retyped: changed.retyped.filter(isReadable),
  };
}

const formatVersion = ({ version }: FeedRow, epoch: string): string => `${version}${epoch === '' ? '' : `-${epoch}`}`;
