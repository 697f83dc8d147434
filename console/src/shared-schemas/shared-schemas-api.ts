// Requests for shared schemas, their versions and their rollouts (docs/reference/shared-schemas.md and rollouts.md).
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { stringifySearch } from '../address.ts';
import { type Json, stringifyExact } from '../api/json.ts';
import { organizationPath, paged } from '../api/organizations.ts';
import { request, requestExact } from '../api/request.ts';
import type {
  NewRollout,
  NewRolloutPlan,
  PublishedVersion,
  Rollout,
  RolloutPlan,
  RolloutWorkspace,
  SharedSchema,
  VersionStep,
  VersionSummary,
  WorkspaceListed,
} from '../api/types.ts';

/** A shared schema in the address bar. */
export interface SharedSchemaRef {
  readonly org: string;
  readonly name: string;
}

/** Version with the digits of its document. */
export interface Version {
  readonly schema: Json;
  readonly steps: readonly VersionStep[];
  readonly createdAt: string;
}

export type RolloutState = Rollout['state'];
export type RolloutCommand = 'pause' | 'resume' | 'retry' | 'cancel';

const REFETCH_MS = 5000;
// Poll interval of a rollout and a plan under way.
const POLL_MS = 1000;

/** Returns the path of a shared schema in the admin API, below /console/api. */
export const schemaPath = ({ org, name }: SharedSchemaRef, rest = ''): string =>
  organizationPath(org, `/schemas/${encodeURIComponent(name)}${rest}`);

/** Returns the address of the list of shared schemas; `-` is no slug, so no workspace has it. */
export const schemasScreen = (org: string): string => `/${org}/-/schemas`;

/** Returns the address of a screen of a shared schema. */
export const schemaScreen = ({ org, name }: SharedSchemaRef, rest = ''): string =>
  `${schemasScreen(org)}/${name}${rest}`;

const schemaKey = ({ org, name }: SharedSchemaRef) => ['shared-schemas', org, name] as const;

/** Key of everything about the shared schemas of an organization. */
export const schemasKey = (org: string) => ['shared-schemas', org] as const;

export const schemasQuery = (org: string, page: number, size: number) =>
  queryOptions({
    queryKey: [...schemasKey(org), '', page, size],
    queryFn: ({ signal }) => paged<SharedSchema>(organizationPath(org, `/schemas?page=${page}&size=${size}`), signal),
    placeholderData: keepPreviousData,
  });

export const sharedSchemaQuery = (schema: SharedSchemaRef) =>
  queryOptions({
    queryKey: schemaKey(schema),
    queryFn: async ({ signal }) => (await request<SharedSchema>({ path: schemaPath(schema), signal })).data,
    refetchInterval: REFETCH_MS,
  });

/** Query for a page of versions, newest first. */
export const versionsQuery = (schema: SharedSchemaRef, page: number, size: number) =>
  queryOptions({
    queryKey: [...schemaKey(schema), 'versions', page, size],
    queryFn: ({ signal }) => paged<VersionSummary>(schemaPath(schema, `/versions?page=${page}&size=${size}`), signal),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_MS,
  });

/** Query for a version, which never changes. */
export const versionQuery = (schema: SharedSchemaRef, version: number | string) =>
  queryOptions({
    queryKey: [...schemaKey(schema), 'version', String(version)],
    queryFn: async ({ signal }): Promise<Version> => {
      const path = schemaPath(schema, `/versions/${encodeURIComponent(version)}`);
      return (await requestExact<Json>({ path, signal })).data as unknown as Version;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Query for the steps from the newest version to a document. The server rejects an invalid one with its errors. */
export const dryRunQuery = (schema: SharedSchemaRef, document: Json) =>
  queryOptions({
    queryKey: [...schemaKey(schema), 'dry-run', stringifyExact(document)],
    queryFn: async ({ signal }) => {
      const path = schemaPath(schema, '/versions?dryRun=true');
      return (await request<PublishedVersion>({ method: 'POST', path, body: document, signal })).data;
    },
    gcTime: 30_000,
  });

export const publish = async (schema: SharedSchemaRef, document: Json): Promise<PublishedVersion> =>
  (await request<PublishedVersion>({ method: 'POST', path: schemaPath(schema, '/versions'), body: document })).data;

/** Query for a page of the workspaces that follow a shared schema. */
export const followersQuery = ({ org, name }: SharedSchemaRef, page: number, size: number) =>
  queryOptions({
    queryKey: [...schemaKey({ org, name }), 'followers', page, size],
    queryFn: ({ signal }) =>
      paged<WorkspaceListed>(
        organizationPath(org, `/workspaces${stringifySearch({ follows: name, page: `${page}`, size: `${size}` })}`),
        signal,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_MS,
  });

export const rolloutsQuery = (schema: SharedSchemaRef, page: number, size: number) =>
  queryOptions({
    queryKey: [...schemaKey(schema), 'rollouts', page, size],
    queryFn: ({ signal }) => paged<Rollout>(schemaPath(schema, `/rollouts?page=${page}&size=${size}`), signal),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_MS,
  });

const rolloutPath = (schema: SharedSchemaRef, id: string, rest = ''): string =>
  schemaPath(schema, `/rollouts/${encodeURIComponent(id)}${rest}`);

/** Query for a rollout, polled each second while it works on workspaces. */
export const rolloutQuery = (schema: SharedSchemaRef, id: string) =>
  queryOptions({
    queryKey: [...schemaKey(schema), 'rollout', id],
    queryFn: async ({ signal }) => (await request<Rollout>({ path: rolloutPath(schema, id), signal })).data,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isWorking(data) ? POLL_MS : REFETCH_MS),
    staleTime: 0,
  });

export const isWorking = ({ state, counts }: Rollout): boolean =>
  state === 'planning' || state === 'running' || counts.running > 0;

/** Query for a page of the workspaces of a rollout in one state, or in all of them. */
export const rolloutWorkspacesQuery = (
  schema: SharedSchemaRef,
  {
    id,
    state,
    page,
    size,
  }: { readonly id: string; readonly state?: string; readonly page: number; readonly size: number },
) =>
  queryOptions({
    queryKey: [...schemaKey(schema), 'rollout', id, 'workspaces', state, page, size],
    queryFn: ({ signal }) =>
      paged<RolloutWorkspace>(
        rolloutPath(schema, id, `/workspaces${stringifySearch({ state, page: `${page}`, size: `${size}` })}`),
        signal,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_MS,
  });

export const commandRollout = async (schema: SharedSchemaRef, id: string, command: RolloutCommand): Promise<Rollout> =>
  (await request<Rollout>({ method: 'POST', path: rolloutPath(schema, id, `/${command}`) })).data;

export const startPlan = async (schema: SharedSchemaRef, body: NewRolloutPlan): Promise<RolloutPlan> =>
  (await request<RolloutPlan>({ method: 'POST', path: schemaPath(schema, '/rollouts/plan'), body })).data;

/** Query for a plan, polled until all workspaces are planned. */
export const rolloutPlanQuery = (schema: SharedSchemaRef, id: number | undefined) =>
  queryOptions({
    queryKey: [...schemaKey(schema), 'plan', id],
    queryFn: async ({ signal }) =>
      (await request<RolloutPlan>({ path: schemaPath(schema, `/rollouts/plan?id=${id}`), signal })).data,
    enabled: id !== undefined,
    refetchInterval: ({ state: { data } }) => (data?.state === 'planned' ? false : POLL_MS / 2),
    staleTime: 0,
  });

export const startRollout = async (schema: SharedSchemaRef, body: NewRollout): Promise<Rollout> =>
  (await request<Rollout>({ method: 'POST', path: schemaPath(schema, '/rollouts'), body })).data;
