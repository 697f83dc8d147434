// Loads what a workspace keeps of the changes of its records, and who follows them.
import { hasFiles } from '../database/install.ts';
import type { Database } from '../database/pool.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { type KeptFigures, loadKeptFigures } from '../workspace-schema/change-figures.ts';
import { numberChanges } from '../workspace-schema/change-numbering.ts';

export interface ChangedEntity {
  readonly entity: string;
  readonly changes: 'feed' | 'history';
  /** Time since which all changes are there. */
  readonly since: Date;
  /** Days for which history is kept; null without history. */
  readonly historyDays: number | null;
}

export interface WorkspaceChanges extends Omit<KeptFigures, 'since'> {
  readonly entities: readonly ChangedEntity[];
  readonly webhooks: number;
}

interface EntityRow extends Pick<ChangedEntity, 'entity' | 'historyDays'> {
  readonly changes: 'off' | 'feed' | 'history';
  readonly relation: string;
}

const NOTHING: KeptFigures = { bytes: 0, unnumbered: 0, lagSeconds: 0, oldest: null, since: new Map() };

/** Loads the changes of a workspace. `historyDays`: where an entity does not configure them. */
export async function loadChanges(db: Database, workspaceId: string, historyDays: number): Promise<WorkspaceChanges> {
  const [workspace] = await db.query<{ schema: string; webhooks: number }>(
    toQuery(sql`select database_schema as schema,
  (select count(*) from wda.webhook h where h.workspace_id = w.id)::int4 as webhooks from wda.workspace w where id = ${workspaceId}::bigint`),
  );
  const { schema = '', webhooks = 0 } = workspace ?? {};
  const rows = await db.query<EntityRow>(
    toQuery(sql`select e.name as entity, coalesce(w.names -> 'tables' ->> e.name, e.name) as relation,
  coalesce(e.value -> 'settings' ->> 'changes', 'off') as changes, (e.value -> 'settings' ->> 'historyDays')::int4 as "historyDays"
from wda.workspace w cross join lateral json_each(w.document -> 'entities') with ordinality e (name, value, at)
where w.id = ${workspaceId}::bigint order by e.at`),
  );
  const { since, ...figures } = (await hasFiles(db, 'changes', schema)) ? await loadKeptFigures(db, schema) : NOTHING;
  const entities = rows.flatMap(({ entity, relation, changes, historyDays: own }): readonly ChangedEntity[] => {
    const at = since.get(relation);
    if (changes === 'off' || at === undefined) return [];
    return [{ entity, changes, since: at, historyDays: changes === 'history' ? (own ?? historyDays) : null }];
  });
  return { ...figures, entities, webhooks };
}

/** Gives positions to everything that is committed in a workspace that has kept changes. `schema`: that of its tables. */
export async function numberWorkspaceChanges(db: Database, workspaceId: string, schema: string): Promise<void> {
  const options = { tenant: workspaceId, expected: 'unknown' } as const;
  await numberChanges(async (query) => (await db.run(query, 'write', options))[0], schema);
}
