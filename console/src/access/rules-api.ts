// Requests of row rules: those in force, their change, and a try of others.
import { queryOptions } from '@tanstack/react-query';
import { isRefusal, Refusal, type RefusalParts } from '../api/api-error.ts';
import { type Digits, type Json, stringifyExact } from '../api/json.ts';
import { ask, askExact } from '../api/request.ts';
import type { Versioned } from '../api/request-types.ts';
import type { Claims } from '../api/view-as.ts';
import { adminPath, type Place } from '../api/workspace.ts';
import { type Fate, fatesOf, type Rule, type RulesByEntity, rulesText, type Seen, unsureIds } from './rules.ts';

interface Sent {
  readonly column: string;
  readonly claim: string;
  readonly enabled?: boolean;
}

const ruleOf = ({ column, claim, enabled = true }: Sent): Rule => ({ column, claim, enabled });

/** The rules in force, of every entity. */
export const rulesQuery = (place: Place) =>
  queryOptions({
    queryKey: ['row-rules', place.org, place.ws],
    queryFn: async ({ signal }): Promise<RulesByEntity> => {
      const { data } = await ask<{ entities?: Record<string, { rowRules?: readonly Sent[] }> }>({
        path: adminPath(place, '/schema'),
        signal,
      });
      return new Map(
        Object.entries(data.entities ?? {}).map(([name, { rowRules = [] }]) => [name, rowRules.map(ruleOf)]),
      );
    },
    // A draft stands on them.
    refetchOnWindowFocus: false,
  });

const rulesPath = (place: Place, entity: string): string =>
  adminPath(place, `/entities/${encodeURIComponent(entity)}/row-rules`);

async function readRules(place: Place, entity: string): Promise<Versioned<readonly Rule[]>> {
  const { data, etag } = await ask<readonly Sent[]>({ path: rulesPath(place, entity) });
  return { value: data.map(ruleOf), etag };
}

/**
 * Replaces the rules of an entity, if they are still `before`. Gives the rules of somebody else who was quicker, undefined when
 * it is done. Throws Refusal.
 */
export async function saveRules(
  place: Place,
  entity: string,
  rules: readonly Rule[],
  before: readonly Rule[],
): Promise<readonly Rule[] | undefined> {
  const { value, etag } = await readRules(place, entity);
  if (rulesText(value) !== rulesText(before)) return value;
  const headers = etag === undefined ? {} : { 'If-Match': etag };
  try {
    await ask({ method: 'PUT', path: rulesPath(place, entity), body: rules, headers });
    return undefined;
  } catch (thrown) {
    if (isRefusal(thrown) && thrown.status === 412) return (await readRules(place, entity)).value;
    throw thrown;
  }
}

/** One side of a try, with what happens to each record on the way to the other. */
export interface Side {
  readonly seen: Seen;
  /** By id. */
  readonly fates: ReadonlyMap<string, Fate>;
}

export interface Tried {
  readonly now: Side;
  /** undefined: nothing is unsaved. */
  readonly next: Side | undefined;
}

export interface Try {
  readonly claims: Claims;
  readonly entity: string;
  /** Fields that are shown, without `id`. */
  readonly fields: readonly string[];
  readonly draft: RulesByEntity;
}

/** How many records of each side are compared, one by one. */
export const COMPARED = 50;

// Longer values are cut: they are only to be recognized.
const PREVIEW = 80;

/** What a user with these claims sees of an entity, now and with the unsaved rules. Throws Refusal. */
export async function tryRules(
  place: Place,
  { claims, entity, fields, draft }: Try,
  signal: AbortSignal,
): Promise<Tried> {
  const name = encodeURIComponent(entity);
  const shown = ['id', ...fields].map(encodeURIComponent).join(',');
  const list = `${name}?sort=id&size=${COMPARED}&preview=${PREVIEW}&fields=${shown}`;
  const asked = (path: string, rules: RulesByEntity | undefined): Promise<Seen> =>
    seenBy(place, claims, path, rules, signal);
  const now = await asked(list, undefined);
  if (draft.size === 0) return { now: { seen: now, fates: fatesOf(now, now, new Set(), 'stays') }, next: undefined };
  const next = await asked(list, draft);
  const among = async (ids: readonly string[], rules: RulesByEntity | undefined): Promise<ReadonlySet<string>> => {
    if (ids.length === 0) return new Set();
    const { records } = await asked(`${name}?size=${COMPARED}&fields=id&filter=id,in,${ids.join(',')}`, rules);
    return new Set(records.map(({ id }) => stringifyExact(id)));
  };
  return {
    now: { seen: now, fates: fatesOf(now, next, await among(unsureIds(now, next), draft), 'disappears') },
    next: { seen: next, fates: fatesOf(next, now, await among(unsureIds(next, now), undefined), 'appears') },
  };
}

interface TestAnswer {
  readonly status: Digits;
  readonly body: {
    readonly data?: Seen['records'];
    readonly meta?: { readonly totalElements?: Json };
    readonly error?: Partial<RefusalParts> & { readonly message?: string };
  };
}

async function seenBy(
  place: Place,
  claims: Claims,
  path: string,
  rules: RulesByEntity | undefined,
  signal: AbortSignal,
): Promise<Seen> {
  const body = { claims, requests: [{ path }], ...(rules === undefined ? {} : { rules: Object.fromEntries(rules) }) };
  const { data } = await askExact<readonly TestAnswer[]>({
    method: 'POST',
    path: adminPath(place, '/access/test'),
    body,
    signal,
  });
  const [answer] = data;
  if (answer === undefined) throw new TypeError('a test of access has an answer for each request');
  const { data: records, meta, error } = answer.body;
  if (records === undefined)
    throw new Refusal(error?.message ?? 'The records cannot be read', {
      status: Number(String(answer.status)),
      code: error?.code ?? 'UNKNOWN',
    });
  return { records, total: Number(String(meta?.totalElements)) };
}
