// Requests for row rules: reads them, saves them, and previews a draft.

import { queryOptions } from '@tanstack/react-query';
import { ApiError, type ApiErrorFields, isApiError } from '../api/api-error.ts';
import { type Digits, type Json, stringifyExact } from '../api/json.ts';
import { request, requestExact } from '../api/request.ts';
import type { RowRule, Versioned } from '../api/types.ts';
import type { Claims } from '../api/view-as.ts';
import { adminPath, type WorkspaceRef } from '../api/workspace.ts';
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

export interface RulesPreview {
  readonly current: PreviewSide;
  /** Records by the draft, or undefined if nothing is unsaved. */
  readonly draft: PreviewSide | undefined;
}

export interface RulesPreviewRequest {
  readonly claims: Claims;
  readonly entity: string;
  /** Displayed fields, without `id`. */
  readonly fields: readonly string[];
  readonly draft: RulesByEntity;
}

/** Number of records of each side that are compared one by one. */
export const PREVIEW_SIZE = 50;

// Longest value in characters: enough to recognize the record.
const VALUE_LENGTH = 80;

/**
 * Fetches the records of an entity that a user with these claims sees, now and with the unsaved rules. Throws ApiError.
 */
export async function previewRules(
  workspace: WorkspaceRef,
  { claims, entity, fields, draft }: RulesPreviewRequest,
  signal: AbortSignal,
): Promise<RulesPreview> {
  const name = encodeURIComponent(entity);
  const fieldNames = ['id', ...fields].map(encodeURIComponent).join(',');
  const list = `${name}?sort=id&size=${PREVIEW_SIZE}&preview=${VALUE_LENGTH}&fields=${fieldNames}`;
  const query = (path: string, rules: RulesByEntity | undefined): Promise<VisibleRecords> =>
    queryAsUser(workspace, claims, path, rules, signal);
  const now = await query(list, undefined);
  if (draft.size === 0)
    return { current: { list: now, changes: compareVisibility(now, now, new Set(), 'stays') }, draft: undefined };
  const next = await query(list, draft);
  const among = async (ids: readonly string[], rules: RulesByEntity | undefined): Promise<ReadonlySet<string>> => {
    if (ids.length === 0) return new Set();
    const { records } = await query(`${name}?size=${PREVIEW_SIZE}&fields=id&filter=id,in,${ids.join(',')}`, rules);
    return new Set(records.map(({ id }) => stringifyExact(id)));
  };
  return {
    current: {
      list: now,
      changes: compareVisibility(now, next, await among(findUnmatchedIds(now, next), draft), 'disappears'),
    },
    draft: {
      list: next,
      changes: compareVisibility(next, now, await among(findUnmatchedIds(next, now), undefined), 'appears'),
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
  rules: RulesByEntity | undefined,
  signal: AbortSignal,
): Promise<VisibleRecords> {
  const body = { claims, requests: [{ path }], ...(rules === undefined ? {} : { rules: Object.fromEntries(rules) }) };
  const { data } = await requestExact<readonly TestAnswer[]>({
    method: 'POST',
    path: adminPath(workspace, '/access/test'),
    body,
    signal,
  });
  const [answer] = data;
  if (answer === undefined) throw new TypeError('a test of access has an answer for each request');
  const { data: records, meta, error } = answer.body;
  if (records === undefined)
    throw new ApiError(error?.message ?? 'The records cannot be read', {
      status: Number(String(answer.status)),
      code: error?.code ?? 'UNKNOWN',
    });
  return { records, total: Number(String(meta?.totalElements)) };
}
