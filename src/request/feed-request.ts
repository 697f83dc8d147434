// Parses the query string of a feed of changes, of one entity or of a workspace.
import { badRequest } from '../errors.ts';
import { combineFilters, type FilterTree } from './filter.ts';
import type { EventType } from './parameters.ts';
import type { FieldTree } from './paths.ts';
import { readQuery } from './read-parameters.ts';

/** Where a page begins. */
export type FeedStart =
  | { readonly kind: 'now' }
  | { readonly kind: 'oldest' }
  | { readonly kind: 'cursor'; readonly text: string }
  | { readonly kind: 'since'; readonly time: string };

export interface FeedRequest {
  readonly start: FeedStart;
  /** Names of the entities, or undefined for all that keep changes. */
  readonly entities: readonly string[] | undefined;
  /** Whether they are a parameter, where an unknown name is no unknown path. */
  readonly isParameter?: boolean;
  readonly size: number;
  readonly waitSeconds: number;
  /** Kinds of events, or undefined for all. */
  readonly types: readonly EventType[] | undefined;
  readonly previous: boolean;
  /** Fields to show, `all`, or undefined for the default of the entity. */
  readonly fields: FieldTree | 'all' | undefined;
  readonly filter: FilterTree | undefined;
}

const DEFAULT_SIZE = 100;
// A statement looks for each of them.
const MAX_ENTITIES = 500;

/**
 * `entity`: the one of the path, or undefined for a workspace. `lastEventId`: of a stream, the cursor where it goes on, or
 * an empty text if the client has none. Throws 400.
 */
export function parseFeedRequest(query: string, entity: string | undefined, lastEventId?: string): FeedRequest {
  const values =
    entity === undefined
      ? readQuery('workspaceChanges', query)
      : { ...readQuery('changes', query), entities: undefined };
  const entities = entity === undefined ? values.entities : [entity];
  if (entities !== undefined && entities.length > MAX_ENTITIES)
    throw badRequest('LIMIT_EXCEEDED', `entities names more than ${MAX_ENTITIES} entities`);
  const { after, since, size = DEFAULT_SIZE, wait = 0, types, previous = false, fields } = values;
  const filter = combineFilters(values.filter, values.or);
  if (lastEventId !== undefined) {
    for (const name of ['size', 'wait'] as const)
      if (values[name] !== undefined) throw badRequest('PARAMETER_CONFLICT', `${name} is for pages: a stream has none`);
  }
  if (new Set(entities).size !== 1) {
    for (const [name, value] of Object.entries({ fields, filter: values.filter, or: values.or }))
      if (value !== undefined)
        throw badRequest('PARAMETER_CONFLICT', `${name} needs one entity: name it in the path or in entities`);
  }
  return {
    start: lastEventId ? { kind: 'cursor', text: lastEventId } : toStart(after, since),
    entities: entities && [...new Set(entities)],
    isParameter: entity === undefined,
    size,
    waitSeconds: wait,
    types,
    previous,
    fields,
    filter,
  };
}

function toStart(after: string | undefined, since: string | undefined): FeedStart {
  if (since !== undefined) return { kind: 'since', time: since };
  if (after === undefined || after === 'now') return { kind: 'now' };
  return after === 'oldest' ? { kind: 'oldest' } : { kind: 'cursor', text: after };
}
