// Bodies of bulk requests -> the assignments of their records, and the mistakes in them.
import type { Detail } from '../errors.ts';
import { EXPANDS_TOO_MUCH } from '../model/field-types.ts';
import { MAX_EXPANDED_BYTES } from '../model/json-digits.ts';
import { type Assignment, planAssignment } from '../plan/assignment.ts';
import { isGranted, planGrantedAssignment } from '../plan/granted.ts';
import { MAX_DETAILS } from '../plan/unknown-name.ts';
import { type ItemOfUpdate, parseItem, type Target } from '../request/bulk.ts';
import { isRecord } from '../request/members.ts';
import type { EntityContext } from './context.ts';
import type { WriteDeps } from './reads.ts';

type Changes = ReturnType<typeof planAssignment>['changes'];

// Depth of {"data": [record, …]}
const RECORD_DEPTH = 3;

/** Reads the body of a bulk request; throws 400 or 413. */
export async function readBulkBody<T>(
  { config }: WriteDeps,
  { call }: EntityContext,
  parse: (body: unknown, max: number) => T,
): Promise<T> {
  return parse(await call.body({ maxBytes: config.maxBulkBytes, recordDepth: RECORD_DEPTH }), config.maxBulk);
}

interface AssignmentResult {
  readonly items: readonly Assignment[];
  readonly changes: readonly Changes[];
  readonly details: readonly Detail[];
}

/** Checks the records one by one, in slices, until there are as many mistakes as one response lists. */
export function* planAssignments(
  records: readonly unknown[],
  assign: (record: unknown) => ReturnType<typeof planAssignment>,
): Generator<undefined, AssignmentResult> {
  const items: Assignment[] = [];
  const changes: Changes[] = [];
  const details: Detail[] = [];
  let expandedBytes = 0;
  for (const [index, record] of records.entries()) {
    yield undefined;
    if (details.length >= MAX_DETAILS) break;
    if (!isRecord(record)) {
      details.push({ index, field: null, code: 'TYPE_MISMATCH', message: 'must be a JSON object' });
      continue;
    }
    const result = assign(record);
    items.push(result.values);
    changes.push(result.changes);
    details.push(...result.details.map((detail) => ({ index, ...detail })));
    expandedBytes += result.expandedBytes;
    if (expandedBytes > MAX_EXPANDED_BYTES && result.details.length === 0) {
      details.push({
        index,
        field: null,
        code: 'OUT_OF_RANGE',
        message: `with the records before it ${EXPANDS_TOO_MUCH}`,
      });
      break;
    }
  }
  return { items, changes, details };
}

/** Parses the records of an update, with the changes of each. */
export function* parseChanges(
  records: readonly unknown[],
  { entity, principal }: EntityContext,
): Generator<undefined, AssignmentResult & { readonly targets: readonly Target[] }> {
  const targets: Target[] = [];
  const mistakes: Detail[] = [];
  const firstIndexes = new Map<string, number>();
  const parsed: (ItemOfUpdate | readonly Detail[])[] = [];
  for (const [index, record] of records.entries()) {
    yield undefined;
    const item = parseItem(record, index);
    parsed.push(item);
    if (!('id' in item)) mistakes.push(...item);
    else {
      targets.push({ id: item.id, name: item.name, version: item.version });
      const first = firstIndexes.get(item.name);
      if (first === undefined) firstIndexes.set(item.name, index);
      else
        mistakes.push({
          index,
          field: 'id',
          code: 'INVALID',
          message: `is the id of record ${first} of the request, too`,
        });
    }
  }
  const updates = parsed.filter((item): item is ItemOfUpdate => 'id' in item);
  const { items, changes, details } = yield* planAssignments(
    updates.map(({ fields }) => fields),
    (fields) =>
      isGranted(entity) ? planGrantedAssignment(fields, entity, principal, '') : planAssignment(fields, entity, ''),
  );
  const indexes = [...parsed.keys()].filter((index) => 'id' in (parsed[index] as object));
  const located = details.map((detail) => ({ ...detail, index: indexes[detail.index ?? 0] as number }));
  const all = [...mistakes, ...located].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return { items, changes, targets, details: all.slice(0, MAX_DETAILS) };
}
