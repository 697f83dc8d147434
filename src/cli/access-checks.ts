// Builds the requests of an access test, each with a function that judges its response: every way in which a record could be
// seen or inferred. Sends nothing itself.
import { numberText } from '../model/exact-json.ts';
import type { WriteTrial } from './access-file.ts';

/** Relation that leads to the entity from another entity. */
export interface InboundRelation {
  readonly from: string;
  readonly relation: string;
  readonly isToOne: boolean;
  /** Ids of records of the other entity that are linked with records of the test. */
  readonly linkedIds: readonly string[];
}

export interface Expectation {
  readonly entity: string;
  readonly visible: readonly string[];
  readonly hidden: readonly string[];
  readonly inboundRelations: readonly InboundRelation[];
  /** Whether all records of the entity are visible. */
  readonly isAll: boolean;
}

export interface Check {
  readonly path: string;
  /** Method of a write, which is rolled back. */
  readonly method?: string;
  readonly body?: unknown;
  /** Returns what the response leaks or lacks, or undefined if it is right. */
  readonly judge: (response: CheckResponse) => string | undefined;
  /** Returns a mistake by what the owner of the workspace is answered, where the response alone does not decide. */
  readonly judgeForAll?: (
    response: CheckResponse,
    tryAsOwner: (operation: object) => Promise<OwnerRefusal | undefined>,
  ) => Promise<string | undefined>;
}

/** Refusal of a write of the owner, whom no grant limits. */
export interface OwnerRefusal {
  readonly message: string;
  readonly details: readonly RefusalDetail[];
}

export interface RefusalDetail {
  readonly field?: string | null;
  readonly code?: string;
}

interface CheckResponse {
  readonly status: number;
  readonly body: unknown;
}

// A query string of 200 ids stays below 4 kB.
const CHUNK = 200;
// Largest id, which no sequence reaches.
const NO_RECORD = String(Number.MAX_SAFE_INTEGER);

export function buildChecks(expected: Expectation): Check[] {
  const own = buildOwnChecks(expected).map(
    (check): Check => ({
      ...check,
      // An entity that does not exist for a role shows no record.
      judge: (response) =>
        expected.visible.length === 0 && isUnknownEntity(response) ? undefined : check.judge(response),
    }),
  );
  const inbound = expected.inboundRelations.flatMap((relation) =>
    inboundChecks(expected.entity, relation, expected.hidden),
  );
  return [
    ...own,
    // Neither does an entity or a relation that does not exist for the role lead to one.
    ...inbound.map(
      (check): Check => ({
        ...check,
        judge: (response) => (response.status === 400 || isUnknownEntity(response) ? undefined : check.judge(response)),
      }),
    ),
  ];
}

function buildOwnChecks(expected: Expectation): Check[] {
  const { entity, visible, hidden } = expected;
  const all = [...visible, ...hidden].sort(byNumber);
  const checks = expected.isAll ? [makeCountCheck(`${entity}?size=1&fields=id&expand=`, visible.length)] : [];
  for (const ids of chunks(all))
    checks.push(
      ...listChecks(
        entity,
        ids,
        ids.filter((id) => visible.includes(id)),
      ),
    );
  for (const ids of chunks(hidden)) checks.push(...absenceChecks(entity, ids));
  checks.push(...readChecks(entity, visible, hidden));
  return checks;
}

/** Builds checks that these fields are seen, and no other; without a field the entity is not there. */
export function buildFieldChecks(entity: string, names: readonly string[], all: readonly string[]): Check[] {
  const read = (fields: readonly string[], judge: Check['judge']): Check => ({
    path: `${entity}?fields=${fields.map(encodeURIComponent).join()}&size=1&expand=&count=none`,
    judge,
  });
  if (names.length === 0) {
    return [
      read(['id'], (response) =>
        isUnknownEntity(response) ? undefined : `${entity} is there: ${describeAnswer(response)}`,
      ),
    ];
  }
  const unknown = names.filter((name) => !all.includes(name));
  const others = all.filter((name) => name !== 'id' && !names.includes(name));
  return [
    read(names, (response) => {
      if (unknown.length > 0) return `there is no field ${unknown.join(', ')}. Known: ${all.join(', ')}`;
      return response.status === 200 ? undefined : `a field is not seen: ${describeAnswer(response)}`;
    }),
    ...others.map((name) =>
      read([name], (response) =>
        response.status === 400 ? undefined : `field ${name} is seen: ${describeAnswer(response)}`,
      ),
    ),
  ];
}

const METHODS = { create: 'POST', update: 'PATCH', delete: 'DELETE' } as const;

/** Builds a check that a write is allowed, or is not. */
export function buildWriteCheck({ isAllowed, operation, entity, id, values }: WriteTrial): Check {
  const method = METHODS[operation];
  const words = id === undefined ? `create of ${JSON.stringify(values)}` : `${operation} of record ${id}`;
  const body = values === undefined ? {} : { body: values };
  const request = { path: id === undefined ? entity : `${entity}/${id}`, method, ...body };
  if (isAllowed) {
    return {
      ...request,
      judge: (response) => (response.status < 300 ? undefined : `${words} is refused: ${describeAnswer(response)}`),
    };
  }
  return {
    ...request,
    judge: (response) => (response.status < 300 ? `${words} is allowed` : undefined),
    // A body that is wrong for everybody would be refused whatever the grants are.
    async judgeForAll(response, tryAsOwner) {
      if (response.status === 403 || response.status === 404) return undefined;
      const refusal = await tryAsOwner({ method, entity, ...(id === undefined ? {} : { id: Number(id) }), ...body });
      if (refusal === undefined || isRefusedMore(response, refusal)) return undefined;
      return `${words} is refused for everybody, so a test of it shows nothing: ${refusal.message}`;
    },
  };
}

/**
 * Returns whether a body has a mistake for the user that it has not for the owner, who may have others: a field that
 * grants store is required of the owner.
 */
function isRefusedMore(response: CheckResponse, refusal: OwnerRefusal): boolean {
  const { details = [] } = getError(response);
  return (
    response.status === 400 &&
    details.some(({ field, code }) => !refusal.details.some((other) => other.field === field && other.code === code))
  );
}

/** Checks that lists, queries, exports and both directions of a sort return and count the visible records. */
function listChecks(entity: string, ids: readonly string[], visible: readonly string[]): Check[] {
  const filter = `filter=id,in,${ids.join()}&fields=id`;
  const total = visible.length;
  const body = { filter: { field: 'id', op: 'in', value: ids.map(Number) }, fields: ['id'], expand: [], size: CHUNK };
  return [
    makeExactCheck(`${entity}?${filter}&expand=&size=${CHUNK}`, visible, total),
    makeExactCheck(`${entity}?${filter}&expand=&size=${CHUNK}&sort=id,desc`, [...visible].reverse(), total),
    { ...makeExactCheck(`${entity}/_query`, visible, total), body },
    {
      path: `${entity}/_export?${filter}&format=ndjson`,
      judge: ({ status, body: lines }) =>
        total === 0 && status === 404
          ? undefined
          : status !== 200 || typeof lines !== 'string'
            ? describeUnexpected({ status, body: lines })
            : difference(
                lines
                  .split('\n')
                  .filter((line) => line !== '')
                  .map((line) => getId(JSON.parse(line))),
                visible,
              ),
    },
  ];
}

/** Checks that every way of counting hidden records returns 0. */
function absenceChecks(entity: string, hidden: readonly string[]): Check[] {
  return ['exact', 'estimated'].map((count) =>
    makeExactCheck(`${entity}?filter=id,in,${hidden.join()}&fields=id&expand=&size=1&count=${count}`, [], 0),
  );
}

/** Checks that hidden records and missing records get the same response. */
function readChecks(entity: string, visible: readonly string[], hidden: readonly string[]): Check[] {
  let absentResponse: string | undefined;
  const read = (id: string, judge: Check['judge']): Check => ({ path: `${entity}/${id}?fields=id&expand=`, judge });
  return [
    read(NO_RECORD, (response) => {
      absentResponse = JSON.stringify(response);
      return response.status === 404 ? undefined : describeUnexpected(response);
    }),
    ...visible.map((id) =>
      read(id, ({ status }) => (status === 200 ? undefined : `record ${id} is not shown (${status})`)),
    ),
    ...hidden.map((id) =>
      read(id, (response) => {
        if (response.status === 200) return `record ${id} is shown`;
        return JSON.stringify({ status: response.status, body: response.body }) === absentResponse
          ? undefined
          : `record ${id} is answered otherwise than one that does not exist`;
      }),
    ),
  ];
}

/** Checks that expansions, filters and sorts from another entity do not reach hidden records. */
function inboundChecks(entity: string, inbound: InboundRelation, hidden: readonly string[]): Check[] {
  const { from, relation, isToOne, linkedIds } = inbound;
  const checks: Check[] = [];
  for (const ids of chunks(hidden)) {
    const { path, judge } = makeExactCheck(
      `${from}?filter=${relation}.id,in,${ids.join()}&fields=id&expand=&size=1`,
      [],
      0,
    );
    checks.push({ path, judge: (response) => (isNothing(response) ? undefined : judge(response)) });
  }
  for (const ids of chunks(linkedIds)) {
    const expanded = `${from}?filter=id,in,${ids.join()}&expand=${relation}&fields=id,${relation}.id&size=${CHUNK}`;
    checks.push({ path: expanded, judge: (response) => judgeExpansion(response, entity, relation, hidden) });
    if (isToOne)
      checks.push({ path: `${expanded}&sort=${relation}.id`, judge: (response) => judgeSort(response, relation) });
  }
  return checks;
}

function judgeExpansion(
  response: CheckResponse,
  entity: string,
  relation: string,
  hidden: readonly string[],
): string | undefined {
  const records = getRecords(response);
  if (records === undefined) return isNothing(response) ? undefined : describeUnexpected(response);
  const ids = records.flatMap((record) => relatedIds(record[relation]));
  const leak = ids.find((id) => hidden.includes(id));
  return leak === undefined ? undefined : `record ${leak} of ${entity} is shown`;
}

/** Whether the relation, or the entity that it starts from, does not exist for these claims, and so shows nothing. */
const isNothing = ({ status }: CheckResponse): boolean => status === 400 || status === 404;

/** Checks that records without a visible related record come last, ordered by their own id. */
function judgeSort(response: CheckResponse, relation: string): string | undefined {
  const records = getRecords(response);
  if (records === undefined) return isNothing(response) ? undefined : describeUnexpected(response);
  const keys = records.map((record) => [relatedIds(record[relation])[0], getId(record)] as const);
  const sorted = [...keys].sort(([a, own], [b, other]) => {
    if (a !== b) return a === undefined ? 1 : b === undefined ? -1 : byNumber(a, b);
    return byNumber(own, other);
  });
  return keys.every((key, index) => key === sorted[index]) ? undefined : 'the order follows hidden records';
}

/** Returns a check of the records, their order and their number. An entity that does not exist for the claims has none. */
function makeExactCheck(path: string, ids: readonly string[], total: number): Check {
  const { judge } = makeCountCheck(path, total);
  return {
    path,
    judge: (response) => judge(response) ?? difference((getRecords(response) ?? []).map(getId), ids),
  };
}

function makeCountCheck(path: string, total: number): Check {
  return {
    path,
    judge(response) {
      if (total === 0 && response.status === 404) return undefined;
      if (getRecords(response) === undefined) return describeUnexpected(response);
      const actual = Number(numberText((response.body as { meta: { totalElements: unknown } }).meta.totalElements));
      return actual === total ? undefined : `totalElements is ${actual}, not ${total}`;
    },
  };
}

function difference(actual: readonly string[], expected: readonly string[]): string | undefined {
  const leak = actual.find((id) => !expected.includes(id));
  if (leak !== undefined) return `record ${leak} is shown`;
  const missing = expected.find((id) => !actual.includes(id));
  if (missing !== undefined) return `record ${missing} is not shown`;
  return actual.join() === expected.join() ? undefined : 'the order is wrong';
}

type RecordValues = Readonly<Record<string, unknown>>;

function getRecords({ status, body }: CheckResponse): readonly RecordValues[] | undefined {
  return status === 200 ? (body as { data: readonly RecordValues[] }).data : undefined;
}

function relatedIds(related: unknown): string[] {
  if (related === null || related === undefined) return [];
  return (Array.isArray(related) ? related : [related]).map(getId);
}

const getId = (record: RecordValues): string => numberText(record.id) ?? '';

interface Refusal {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: readonly RefusalDetail[];
}

function getError({ body }: CheckResponse): Refusal {
  return (body as { error?: Refusal } | null)?.error ?? {};
}

const isUnknownEntity = (response: CheckResponse): boolean =>
  response.status === 404 && getError(response).reason === 'UNKNOWN_ENTITY';

const describeAnswer = (response: CheckResponse): string =>
  [response.status, getError(response).message].filter((part) => part !== undefined).join(' ');

const describeUnexpected = (response: CheckResponse): string => `the answer is ${describeAnswer(response)}`;

const byNumber = (a: string, b: string): number => Number(a) - Number(b);

function chunks(ids: readonly string[]): string[][] {
  const result: string[][] = [];
  for (let at = 0; at < ids.length; at += CHUNK) result.push(ids.slice(at, at + CHUNK));
  return result;
}
