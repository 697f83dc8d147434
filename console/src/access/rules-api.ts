// Requests for row rules: reads them, saves them, and previews a draft.

import { queryOptions } from '@tanstack/react-query';
import { ApiError, type ApiErrorFields, isApiError } from '../api/api-error.ts';
import { type Digits, type Json, stringifyExact } from '../api/json.ts';
import { request, requestExact } from '../api/request.ts';
import { type CurrentDocument, documentQuery } from '../api/schema-document.ts';
import type { RowRule, Versioned } from '../api/types.ts';
import type { Claims } from '../api/view-as.ts';
import { adminPath, type WorkspaceRef } from '../api/workspace.ts';
import { getAt, isList, listMembers } from '../schema/json-value.ts';
import type { Grants } from './grants.ts';
import {
  compareVisibility,
  findUnmatchedIds,
  formatRules,
  type RulesByEntity,
  type VisibilityChange,
  type VisibleRecords,
} from './rules.ts';

interface Sent {
  readonly column: string;
  readonly claim: string;
  readonly enabled?: boolean;
}

const toRule = ({ column, claim, enabled = true }: Sent): RowRule => ({ column, claim, enabled });

/** Query for the rules in force of all entities. */
export const rulesQuery = (workspace: WorkspaceRef) =>
  queryOptions({
    queryKey: ['row-rules', workspace.org, workspace.ws],
    queryFn: async ({ signal }): Promise<RulesByEntity> => {
      const { data } = await request<{ entities?: Record<string, { rowRules?: readonly Sent[] }> }>({
        path: adminPath(workspace, '/schema'),
        signal,
      });
      return new Map(
        Object.entries(data.entities ?? {}).map(([name, { rowRules = [] }]) => [name, rowRules.map(toRule)]),
      );
    },
    // A refetch would change the base of the draft.
    refetchOnWindowFocus: false,
  });

/** Query for the names of entities with grants, which are not open to every user without a rule. */
export const limitedQuery = (workspace: WorkspaceRef) => ({
  ...documentQuery(workspace),
  select: ({ document }: CurrentDocument): ReadonlySet<string> => {
    const entities = listMembers(getAt(document, ['entities']));
    return new Set(entities.filter(([, one]) => isList(getAt(one, ['grants']))).map(([name]) => name));
  },
});

const rulesPath = (workspace: WorkspaceRef, entity: string): string =>
  adminPath(workspace, `/entities/${encodeURIComponent(entity)}/row-rules`);

async function readRules(workspace: WorkspaceRef, entity: string): Promise<Versioned<readonly RowRule[]>> {
  const { data, etag } = await request<readonly Sent[]>({ path: rulesPath(workspace, entity) });
  return { value: data.map(toRule), etag };
}

/**
 * Replaces the rules of an entity if they are still `before`. Returns the current rules after an edit conflict, or
 * undefined if it saved. Throws ApiError.
 */
export async function saveRules(
  workspace: WorkspaceRef,
  entity: string,
  rules: readonly RowRule[],
  before: readonly RowRule[],
): Promise<readonly RowRule[] | undefined> {
  const { value, etag } = await readRules(workspace, entity);
  if (formatRules(value) !== formatRules(before)) return value;
  const headers = etag === undefined ? {} : { 'If-Match': etag };
  try {
    await request({ method: 'PUT', path: rulesPath(workspace, entity), body: rules, headers });
    return undefined;
  } catch (thrown) {
    if (isApiError(thrown) && thrown.status === 412) return (await readRules(workspace, entity)).value;
    throw thrown;
  }
}

/** Records that one side of a preview shows, each with its change on the other side. */
export interface PreviewSide {
  readonly list: VisibleRecords;
  /** Changes by id. */
  readonly changes: ReadonlyMap<string, VisibilityChange>;
}

export interface AccessPreview {
  readonly current: PreviewSide;
  /** Records by the draft, or undefined if nothing is unsaved. */
  readonly draft: PreviewSide | undefined;
}

/** Rules and grants by entity that are tried in place of those in force. */
export interface Trial {
  readonly rules?: { readonly [entity: string]: readonly RowRule[] };
  readonly grants?: { readonly [entity: string]: Grants };
}

export interface PreviewRequest {
  readonly claims: Claims;
  readonly entity: string;
  /** Displayed fields, without `id`; undefined for all that the user sees. */
  readonly fields: readonly string[] | undefined;
  /** Rules or grants of the first side, in place of those in force. */
  readonly current?: Trial | undefined;
  /** Unsaved rules or grants, or undefined if there are none. */
  readonly trial: Trial | undefined;
}

/** Number of records of each side that are compared one by one. */
export const PREVIEW_SIZE = 50;

// Longest value in characters: enough to recognize the record.
const VALUE_LENGTH = 80;

/**
 * Fetches the records of an entity that a user with these claims sees, now and with what is tried. Throws ApiError.
 */
export async function previewAccess(
  workspace: WorkspaceRef,
  { claims, entity, fields, current, trial }: PreviewRequest,
  signal: AbortSignal,
): Promise<AccessPreview> {
  const name = encodeURIComponent(entity);
  const fieldNames = fields === undefined ? '*' : ['id', ...fields].map(encodeURIComponent).join(',');
  const list = `${name}?sort=id&size=${PREVIEW_SIZE}&preview=${VALUE_LENGTH}&fields=${fieldNames}`;
  const query = (path: string, tried: Trial | undefined): Promise<VisibleRecords> =>
    queryAsUser(workspace, claims, path, tried, signal);
  const now = await query(list, current);
  if (trial === undefined)
    return { current: { list: now, changes: compareVisibility(now, now, new Set(), 'stays') }, draft: undefined };
  const next = await query(list, trial);
  const among = async (ids: readonly string[], tried: Trial | undefined): Promise<ReadonlySet<string>> => {
    if (ids.length === 0) return new Set();
    const { records } = await query(`${name}?size=${PREVIEW_SIZE}&fields=id&filter=id,in,${ids.join(',')}`, tried);
    return new Set(records.map(({ id }) => stringifyExact(id)));
  };
  return {
    current: {
      list: now,
      changes: compareVisibility(now, next, await among(findUnmatchedIds(now, next), trial), 'disappears'),
    },
    draft: {
      list: next,
      changes: compareVisibility(next, now, await among(findUnmatchedIds(next, now), current), 'appears'),
    },
  };
}

interface TestAnswer {
  readonly status: Digits;
  readonly body: {
    readonly data?: VisibleRecords['records'];
    readonly meta?: { readonly totalElements?: Json };
    readonly error?: Partial<ApiErrorFields> & { readonly message?: string };
  };
}

async function queryAsUser(
  workspace: WorkspaceRef,
  claims: Claims,
  path: string,
  trial: Trial | undefined,
  signal: AbortSignal,
): Promise<VisibleRecords> {
  const body = { claims, requests: [{ path }], ...trial };
  const { data } = await requestExact<readonly TestAnswer[]>({
    method: 'POST',
    path: adminPath(workspace, '/access/test'),
    body,
    signal,
  });
  const [answer] = data;
  if (answer === undefined) throw new TypeError('a test of access has an answer for each request');
  const { data: records, meta, error } = answer.body;
  // An entity without a grant for a role of the user does not exist for it.
  if (error?.code === 'NOT_FOUND') return { records: [], total: 0 };
  if (records === undefined)
    throw new ApiError(error?.message ?? 'The records cannot be read', {
      status: Number(String(answer.status)),
      code: error?.code ?? 'UNKNOWN',
    });
  return { records, total: Number(String(meta?.totalElements)) };
}
