// Parses a batch: the body of one request -> operations on several entities, each with its references to records of
// others. Form only; for references in bodies the caller says which fields hold JSON.
import { ApiError, badRequest, malformedId, shorten, unknownName } from '../errors.ts';
import { closest } from '../model/closest.ts';
import type { Entity } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { tooManyOperations } from './errors.ts';
import { isRecord, readMembers } from './members.ts';
import { getParameterName, getParameters } from './parameters.ts';
import { readQuery } from './read-parameters.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

type Method = (typeof METHODS)[number];

/** One operation, as in the body. */
export interface BatchItem {
  /** Name by which later operations refer to it. */
  readonly ref: string | undefined;
  readonly method: Method;
  readonly entity: string;
  /** Digits, or text that is a reference. */
  readonly id: string | { readonly $ref: unknown } | undefined;
  /** Query string before decoding. */
  readonly query: string;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
}

export interface BatchOptions {
  /** Whether everything is executed and then rolled back. */
  readonly isDryRun: boolean;
}

export function parseBatchOptions(query: string): BatchOptions {
  return { isDryRun: readQuery('batch', query).dryRun === true };
}

/** Returns the items of `{"operations": [{…}, …]}`; throws 400 with the operation, 413 above `maxOperations`. */
export function parseBatch(body: unknown, maxOperations: number): readonly BatchItem[] {
  const { operations } = readMembers(body, ['operations'], 'the body').members;
  if (!Array.isArray(operations)) throw badRequest('INVALID_BATCH', 'The body must be {"operations": [operation, …]}');
  if (operations.length > maxOperations) throw tooManyOperations(operations.length, maxOperations);
  return operations.map((operation, index) => inOperation(index, () => parseOperation(operation)));
}

/** Members of an operation that are parameters of a create. */
const CREATE_PARAMETERS = getParameters('batch', 'body').map(getParameterName);
const MEMBERS = ['ref', 'method', 'entity', 'id', 'query', 'body', 'ifMatch', ...CREATE_PARAMETERS];
// A point separates a ref from the field.
const REF = /^[A-Za-z_][\w-]{0,62}$/;
const ID = /^-?\d{1,100}$/;

function parseOperation(operation: unknown): BatchItem {
  if (!isRecord(operation)) throw badRequest('INVALID_BATCH', 'An operation must be a JSON object');
  const { members, has } = readMembers(operation, MEMBERS, 'the operation');
  const text = (name: string): string | undefined => {
    if (!has(name)) return undefined;
    const value = members[name];
    if (typeof value !== 'string') throw badRequest('INVALID_BATCH', `${name} must be a string`);
    return value;
  };
  const ref = text('ref');
  if (ref !== undefined && !REF.test(ref)) {
    throw badRequest('INVALID_BATCH', `ref ${shorten(ref)} must be a letter and up to 62 letters, digits, _ and -`);
  }
  const method = METHODS.find((candidate) => candidate === members.method);
  if (method === undefined) throw badRequest('INVALID_BATCH', `method must be one of ${METHODS.join(', ')}`);
  const entity = text('entity');
  if (entity === undefined) throw badRequest('INVALID_BATCH', 'entity is missing');
  const id = has('id') ? parseItemId(members.id) : undefined;
  if (method === 'POST' && id !== undefined)
    throw badRequest('INVALID_BATCH', 'POST creates a record, whose id the server gives');
  if (method !== 'POST' && method !== 'GET' && id === undefined)
    throw badRequest('INVALID_BATCH', `${method} needs an id`);
  const takesBody = method !== 'GET' && method !== 'DELETE';
  if (!takesBody && Object.hasOwn(members, 'body')) throw badRequest('INVALID_BATCH', `${method} takes no body`);
  const ifMatch = text('ifMatch');
  if (ifMatch !== undefined && id === undefined) throw badRequest('INVALID_BATCH', 'ifMatch needs an id');
  if (method !== 'POST' && CREATE_PARAMETERS.some(has)) {
    throw badRequest('INVALID_BATCH', `${CREATE_PARAMETERS.join(' and ')} are for POST`);
  }
  return { ref, method, entity, id, query: buildQuery(text), body: members.body, ifMatch };
}

function parseItemId(value: unknown): BatchItem['id'] {
  if (isReference(value)) return value;
  const digits = numberText(value) ?? (typeof value === 'string' ? value : '');
  if (ID.test(digits)) return digits;
  // The error of a single request, in whose path a name with `_` is an operation.
  if (digits !== '' && !digits.startsWith('_')) throw malformedId(digits);
  throw badRequest('INVALID_BATCH', 'id must be an integer or {"$ref": "<ref>.<field>"}');
}

/** Builds the query string from the members that are parameters of a create. */
function buildQuery(text: (name: string) => string | undefined): string {
  const parts = [text('query') ?? ''];
  for (const name of CREATE_PARAMETERS) {
    const value = text(name);
    if (value !== undefined) parts.push(`${name}=${encodeURIComponent(value.toWellFormed())}`);
  }
  return parts.filter((part) => part !== '').join('&');
}

/** Returns whether a field of the record of an earlier operation replaces the value. */
function isReference(value: unknown): value is { readonly $ref: unknown } {
  return isRecord(value) && Object.hasOwn(value, '$ref') && Object.keys(value).length === 1;
}

/** Source of a value of an operation: a field of the record in the response of operation `from`. */
export interface Reference {
  readonly from: number;
  readonly field: string;
}

/** An operation with its resolved references. */
export interface LinkedItem {
  readonly item: BatchItem;
  readonly id: Reference | undefined;
  /** References in the body, by the objects that they replace. */
  readonly references: ReadonlyMap<unknown, Reference>;
}

/**
 * Resolves all references; throws 400 for one that names no earlier operation, an operation without a record in its
 * response, or an unknown field. The value of a json field is data, whatever it looks like.
 */
export function linkBatch(
  items: readonly BatchItem[],
  entities: ReadonlyMap<string, Entity>,
): {
  readonly linked: readonly LinkedItem[];
  readonly getUsedFields: (index: number) => ReadonlySet<string> | undefined;
} {
  const indexByRef = new Map<string, number>();
  const later = new Set(items.map(({ ref }) => ref));
  const used = new Map<number, Set<string>>();
  const find = ({ $ref }: { readonly $ref: unknown }): Reference => {
    const text = typeof $ref === 'string' ? $ref : '';
    const point = text.indexOf('.');
    if (point < 0)
      throw badRequest(
        'INVALID_REFERENCE',
        '$ref must be a text such as "order.id": the ref of an operation and a field',
      );
    const ref = text.slice(0, point);
    const field = text.slice(point + 1);
    const from = indexByRef.get(ref);
    if (from === undefined) throw noSuchRef(ref, later.has(ref), indexByRef);
    const { method, entity, id } = items[from] as BatchItem;
    if (method === 'DELETE' || (method === 'GET' && id === undefined)) {
      throw badRequest('INVALID_REFERENCE', `$ref ${shorten(text)}: operation ${from} answers with no record`);
    }
    const fields = entities.get(entity)?.fields;
    if (fields !== undefined && !fields.has(field)) {
      const fieldNames = [...fields.keys()];
      throw unknownName('field', field, entity, closest(field, fieldNames), fieldNames);
    }
    used.set(from, (used.get(from) ?? new Set<string>()).add(field));
    return { from, field };
  };
  const linked = items.map((item, index) =>
    inOperation(index, () => {
      const id = typeof item.id === 'object' ? find(item.id) : undefined;
      const references = new Map<unknown, Reference>();
      const entity = entities.get(item.entity);
      if (entity !== undefined && isRecord(item.body)) {
        for (const [name, value] of Object.entries(item.body)) {
          const isList = entity.relations.get(name)?.kind === 'manyToMany';
          const ids = isList ? listIds(value) : entity.fields.get(name)?.type === 'json' ? [] : [value];
          for (const id of ids) if (isReference(id)) references.set(id, find(id));
        }
      }
      if (item.ref !== undefined) {
        if (indexByRef.has(item.ref)) throw badRequest('INVALID_BATCH', `ref ${item.ref} is used twice`);
        indexByRef.set(item.ref, index);
      }
      return { item, id, references };
    }),
  );
  return { linked, getUsedFields: (index) => used.get(index) };
}

/** Returns the ids in the value of a many-to-many relation: those of a list, or of its operators. */
const listIds = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : isRecord(value) ? Object.values(value).filter(Array.isArray).flat() : [];

function noSuchRef(ref: string, isLater: boolean, indexByRef: ReadonlyMap<string, number>): Error {
  if (isLater) return badRequest('INVALID_REFERENCE', `$ref ${shorten(ref)} is not the ref of an earlier operation`);
  const suggestion = closest(ref, indexByRef.keys());
  const refs = [...indexByRef.keys()].slice(0, 20).join(', ') || 'none';
  return badRequest(
    'INVALID_REFERENCE',
    `No earlier operation has the ref ${shorten(ref)}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} Known: ${refs}`,
  );
}

/** Calls `work` for an operation of a batch; adds the index of the operation to an ApiError. */
export function inOperation<T>(index: number, work: () => T): T {
  const named = (error: unknown): never => {
    throw error instanceof ApiError ? error.of(index) : error;
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(named) as T) : result;
  } catch (error) {
    return named(error);
  }
}
