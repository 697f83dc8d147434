// Settings of a workspace for agents, in the control tables.
import type { Database, Session } from '../database/pool.ts';
import { type AgentSettings, DEFAULT_AGENT_SETTINGS } from '../model/agent-settings.ts';
import { sql, toQuery } from '../sql/fragment.ts';

/** Loads the settings in force: the defaults where no row is stored. */
export async function loadAgentSettings(db: Database, workspaceId: string): Promise<AgentSettings> {
  const rows = await db.query<AgentSettings>(
    toQuery(sql`select enabled, writes, entities from wda.agent_settings where workspace_id = ${workspaceId}`),
  );
  return rows[0] ?? DEFAULT_AGENT_SETTINGS;
}

/** Stores the settings; returns false if the workspace does not exist. */
export async function putAgentSettings(
  db: Pick<Session, 'query'>,
  workspaceId: string,
  { enabled, writes, entities }: AgentSettings,
): Promise<boolean> {
  const rows = await db.query(
    toQuery(sql`insert into wda.agent_settings (workspace_id, enabled, writes, entities)
select w.id, ${enabled}::boolean, ${writes}, ${entities}::bigint[] from wda.workspace w where w.id = ${workspaceId} for key share
on conflict (workspace_id) do update set enabled = excluded.enabled, writes = excluded.writes, entities = excluded.entities
returning workspace_id`),
  );
  return rows.length > 0;
}
