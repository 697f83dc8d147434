// The operations of the data API as one table: dispatch, metrics, refusals and Allow read it, and the reference page
// lists it.

/** Path after the entity: nothing, the id of a record, a word of its own, or words after an id. */
export type Tail = '' | 'id' | `_${string}` | RecordTail;

/** Words after the id of a record, and the id of an event of its history. */
export type RecordTail = 'id/_history' | 'id/_history/event' | 'id/_restore';

export interface Operation {
  readonly methods: readonly string[];
  readonly tail: Tail;
  /** Least access that the operation requires. */
  readonly access: 'read' | 'write';
  /** `bulk`: JSON of many records, which may be longer. */
  readonly body: 'none' | 'json' | 'bulk' | 'file';
}

export interface WorkspaceOperation {
  readonly methods: readonly string[];
  /** Word in the place of the entity, or '' for the workspace itself. */
  readonly name: '' | `_${string}`;
  /** Path after the word: an id, or an id and a word; missing for none. */
  readonly tail?: 'id' | `id/${string}`;
  readonly body: Operation['body'];
}

export const OPERATIONS = {
  list: { methods: ['GET', 'HEAD'], tail: '', access: 'read', body: 'none' },
  create: { methods: ['POST'], tail: '', access: 'write', body: 'json' },
  query: { methods: ['POST'], tail: '_query', access: 'read', body: 'json' },
  aggregate: { methods: ['GET', 'HEAD'], tail: '_aggregate', access: 'read', body: 'none' },
  summarize: { methods: ['POST'], tail: '_aggregate', access: 'read', body: 'json' },
  import: { methods: ['POST'], tail: '_import', access: 'write', body: 'file' },
  bulkCreate: { methods: ['POST'], tail: '_bulk', access: 'write', body: 'bulk' },
  bulkUpdate: { methods: ['PUT', 'PATCH'], tail: '_bulk', access: 'write', body: 'bulk' },
  bulkDelete: { methods: ['DELETE'], tail: '_bulk', access: 'write', body: 'none' },
  bulkDeleteListed: { methods: ['POST'], tail: '_bulk/delete', access: 'write', body: 'bulk' },
  updateWhere: { methods: ['POST'], tail: '_update', access: 'write', body: 'json' },
  deleteWhere: { methods: ['POST'], tail: '_delete', access: 'write', body: 'json' },
  export: { methods: ['GET', 'HEAD'], tail: '_export', access: 'read', body: 'none' },
  changes: { methods: ['GET', 'HEAD'], tail: '_changes', access: 'read', body: 'none' },
  read: { methods: ['GET', 'HEAD'], tail: 'id', access: 'read', body: 'none' },
  history: { methods: ['GET', 'HEAD'], tail: 'id/_history', access: 'read', body: 'none' },
  historyEntry: { methods: ['GET', 'HEAD'], tail: 'id/_history/event', access: 'read', body: 'none' },
  restore: { methods: ['POST'], tail: 'id/_restore', access: 'write', body: 'json' },
  forget: { methods: ['DELETE'], tail: 'id/_history', access: 'write', body: 'none' },
  update: { methods: ['PUT', 'PATCH'], tail: 'id', access: 'write', body: 'json' },
  delete: { methods: ['DELETE'], tail: 'id', access: 'write', body: 'none' },
} as const satisfies Record<string, Operation>;

/** Operations of a workspace, by the word in the place of the entity; names of entities begin with a letter. */
export const WORKSPACE_OPERATIONS = {
  index: { methods: ['GET', 'HEAD'], name: '', body: 'none' },
  openapi: { methods: ['GET', 'HEAD'], name: '_openapi.json', body: 'none' },
  schema: { methods: ['GET', 'HEAD'], name: '_schema', body: 'none' },
  workspaceChanges: { methods: ['GET', 'HEAD'], name: '_changes', body: 'none' },
  batch: { methods: ['POST'], name: '_batch', body: 'bulk' },
  jobs: { methods: ['GET', 'HEAD'], name: '_jobs', body: 'none' },
  job: { methods: ['GET', 'HEAD'], name: '_jobs', tail: 'id', body: 'none' },
  cancelJob: { methods: ['POST'], name: '_jobs', tail: 'id/cancel', body: 'none' },
  mcp: { methods: ['POST'], name: '_mcp', body: 'json' },
} as const satisfies Record<string, WorkspaceOperation>;

export type WorkspaceOperationName = keyof typeof WORKSPACE_OPERATIONS;

export type OperationName = keyof typeof OPERATIONS;

const ENTRIES = Object.entries(OPERATIONS) as readonly [OperationName, Operation][];

/** Words after an entity that name operations: `_query`, … */
export const TAILS: readonly string[] = [...new Set(ENTRIES.map(([, { tail }]) => tail))].filter((tail) =>
  tail.startsWith('_'),
);

/** Classifies the segment after the entity. A word that names no operation counts as an id (a malformed one). */
export function parseTail(segment: string | undefined): Tail {
  if (segment === undefined) return '';
  return TAILS.includes(segment) ? (segment as Tail) : 'id';
}

/** Classifies the segments after the entity that begin with an id, or returns undefined if no operation has them. */
export function parseRecordTail(segments: readonly string[]): RecordTail | undefined {
  if (segments[1] === '_restore' && segments.length === 2) return 'id/_restore';
  if (segments[1] !== '_history' || segments.length > 3) return undefined;
  return segments.length === 2 ? 'id/_history' : 'id/_history/event';
}

/** Operations by tail and method, built once, as each request looks them up. */
const BY_TAIL: ReadonlyMap<Tail, ReadonlyMap<string, OperationName>> = new Map(
  [...new Set(ENTRIES.map(([, { tail }]) => tail))].map((tail) => [
    tail,
    new Map(
      ENTRIES.filter(([, operation]) => operation.tail === tail).flatMap(([name, { methods }]) =>
        methods.map((method) => [method, name] as const),
      ),
    ),
  ]),
);

/** Returns the operation, or undefined if the path does not take the method. */
export function findOperation(method: string, tail: Tail): OperationName | undefined {
  return BY_TAIL.get(tail)?.get(method);
}

/** Returns the methods of a path, for Allow. */
export function getMethods(tail: Tail): readonly string[] {
  return [
    ...ENTRIES.filter(([, operation]) => operation.tail === tail).flatMap(([, { methods }]) => methods),
    'OPTIONS',
  ];
}

const OF_WORKSPACE = Object.entries(WORKSPACE_OPERATIONS) as readonly [WorkspaceOperationName, WorkspaceOperation][];

/** Words in the place of an entity that name operations: `_batch`, … */
export const WORKSPACE_SEGMENTS: readonly string[] = [...new Set(OF_WORKSPACE.map(([, { name }]) => name))].filter(
  isWorkspaceSegment,
);

/** Returns whether the name begins as an operation does, and so cannot be an entity. */
export function isWorkspaceSegment(name: string): boolean {
  return name.startsWith('_');
}

/** Returns the operation of a path (organization, workspace, …), or undefined for entities and unknown paths. */
export function findWorkspaceOperation(segments: readonly string[]): WorkspaceOperationName | undefined {
  const [, workspace = '', name = ''] = segments;
  if (segments.length === 2) return workspace === '' ? undefined : 'index';
  if (segments.length < 3 || segments.length > 5 || !isWorkspaceSegment(name)) return undefined;
  const tail = segments.length === 3 ? undefined : ['id', ...segments.slice(4)].join('/');
  return OF_WORKSPACE.find(([, operation]) => operation.name === name && operation.tail === tail)?.[0];
}
