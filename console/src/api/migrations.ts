// Changes of the schema: planned, started, watched, cancelled.
import { queryOptions } from '@tanstack/react-query';
import { type Json, stringifyExact } from './json.ts';
import { request } from './request.ts';
import { adminPath, type WorkspaceRef } from './workspace.ts';

export type Strategy = 'online' | 'blocking';

export interface PlannedStep {
  readonly entity: string;
  readonly kind: string;
  /** In words. */
  readonly description: string;
  readonly destructive: boolean;
  readonly blocksReads: boolean;
  readonly blocksWrites: boolean;
  readonly estimatedSeconds: number;
  /** Records that make it impossible, and the first ten of them. */
  readonly conflicts: { readonly count: number; readonly sampleIds: readonly number[] } | null;
}

export interface Plan {
  readonly steps: readonly PlannedStep[];
  readonly destructive: boolean;
  /** The tag of the document that it was compared with. */
  readonly basedOn: string;
}

export type MigrationState = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';

export interface MigrationStep extends Omit<PlannedStep, 'conflicts'> {
  readonly state: MigrationState;
  /** From 0 to 1. */
  readonly progress: number;
  /** Of a step that fills records, while it runs; the total is estimated. */
  readonly records?: { readonly done: number; readonly total: number } | null;
}

export interface Migration {
  readonly id: number;
  readonly state: MigrationState;
  readonly strategy: Strategy;
  readonly steps: readonly MigrationStep[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly entity?: string | null;
    readonly field?: string | null;
    readonly count?: number | null;
    readonly sampleIds?: readonly number[] | null;
  } | null;
  readonly waitingFor: {
    readonly pid: number | null;
    readonly application: string | null;
    readonly since: string | null;
  } | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

export const isFinished = ({ state }: Migration): boolean => state !== 'pending' && state !== 'running';

// Of a migration that runs. What is hidden is not asked for (TanStack Query, refetchIntervalInBackground).
const POLL_MS = 500;

/** One migration, asked for every half second until it has ended. */
export const migrationQuery = (place: WorkspaceRef, id: string) =>
  queryOptions({
    queryKey: ['migrations', place.org, place.ws, id],
    queryFn: async ({ signal }) =>
      (await request<Migration>({ path: adminPath(place, `/migrations/${encodeURIComponent(id)}`), signal })).data,
    refetchInterval: ({ state }) => (state.data === undefined || isFinished(state.data) ? false : POLL_MS),
    staleTime: 0,
  });

/** A page of migrations, newest first, with their number in `total`. */
export const migrationsQuery = (place: WorkspaceRef, page = 0, size = 20) =>
  queryOptions({
    queryKey: ['migrations', place.org, place.ws, 'list', page, size],
    queryFn: async ({ signal }) => {
      const path = adminPath(place, `/migrations?page=${page}&size=${size}`);
      const { data, meta } = await request<readonly Migration[]>({ path, signal });
      return { migrations: data, total: Number(meta.totalElements ?? data.length) };
    },
    // Who else began one is seen within five seconds.
    refetchInterval: ({ state }) => (state.data?.migrations.some((one) => !isFinished(one)) ? POLL_MS : 5000),
    staleTime: 0,
  });

/** A migration of any workspace. */
export interface RunningMigration extends Pick<Migration, 'id' | 'state' | 'steps' | 'startedAt'> {
  readonly organization: string;
  readonly workspace: string;
}

export const RUNNING = '/admin/v1/migrations?state=running';

/** Those of all workspaces that have not ended, for the operator. */
export const runningQuery = queryOptions({
  queryKey: ['migrations', 'running'],
  refetchInterval: 2000,
  queryFn: async ({ signal }) => (await request<readonly RunningMigration[]>({ path: RUNNING, signal })).data,
});

/**
 * What a document would change. A document with mistakes is refused with their paths. `basedOn`: the tag of the document in
 * force that it was made from; when another one is in force, the plan is refused with 412.
 */
export const planQuery = (place: WorkspaceRef, document: Json, strategy: Strategy, basedOn?: string) =>
  queryOptions({
    queryKey: ['plan', place.org, place.ws, strategy, basedOn, stringifyExact(document)],
    queryFn: async ({ signal }) =>
      (
        await request<Plan>({
          method: 'POST',
          path: adminPath(
            place,
            `/schema/plan?strategy=${strategy}${basedOn === undefined ? '' : `&basedOn=${encodeURIComponent(basedOn)}`}`,
          ),
          body: document,
          signal,
        })
      ).data,
    gcTime: 30_000,
  });

export interface Change {
  readonly document: Json;
  readonly strategy: Strategy;
  readonly allowDestructive: boolean;
  /** The tag of the document that it was planned for: another one in force is refused with 412. */
  readonly basedOn: string;
}

/** Begins the migration to a document, without waiting for its end. */
export async function startMigration(place: WorkspaceRef, change: Change): Promise<Migration> {
  const { document, strategy, allowDestructive, basedOn } = change;
  const path = adminPath(place, `/schema?strategy=${strategy}&allowDestructive=${allowDestructive}&wait=0`);
  const headers = { 'If-Match': `"${basedOn}"` };
  return (await request<Migration>({ method: 'PUT', path, body: document, headers })).data;
}

/** Answers when it has taken back what it made, or after five seconds. */
export const cancelMigration = async (place: WorkspaceRef, id: string): Promise<void> => {
  await request<Migration>({ method: 'POST', path: adminPath(place, `/migrations/${encodeURIComponent(id)}/cancel`) });
};
