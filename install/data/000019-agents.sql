-- What agents may do in a workspace (MCP), besides what their credentials may not. A workspace without a row has the
-- defaults: it is served to agents, who may only read. `entities`: the ids of those that they reach; null: all.

create table wda.agent_settings (
  workspace_id bigint primary key references wda.workspace (id) on delete cascade,
  enabled boolean not null,
  writes text not null check (writes in ('off', 'confirm', 'on')),
  entities bigint[]
);

-- They are part of the snapshot.
create trigger renew_version after insert or delete or update
  on wda.agent_settings for each row execute function wda.renew_version_of_workspace();
