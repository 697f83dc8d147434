-- The platform's own tables of workspaces: their schema documents, keys and migrations. They lie where the records lie.
-- Files in this folder are run once each, in order, after those of install/control, and never edited afterwards: a change
-- is a new file. Installations know this one by its name, from when there was one row of files for both.

-- `document` is json, not jsonb: jsonb forgets the order of the members, and fields are shown in the order they were
-- written in. `version` grows with every change of anything of the workspace, so that all processes see it.
create table wda.workspace (
  id bigint generated always as identity primary key,
  organization_id bigint not null constraint workspace_organization references wda.organization (id),
  slug text collate "C" not null,
  name text not null,
  database_schema text collate "C" not null constraint workspace_database_schema unique,
  version bigint not null default 1,
  document json not null,
  created_at timestamptz(3) not null default now(),
  constraint workspace_slug unique (organization_id, slug)
);

-- Only the SHA-256 of a key is kept; revoking deletes the row.
create table wda.api_key (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint api_key_workspace references wda.workspace (id) on delete cascade,
  name text not null,
  prefix text not null,
  hash bytea not null constraint api_key_hash unique,
  permissions text not null constraint api_key_permissions check (permissions in ('OWNER', 'READ_WRITE', 'READ_ONLY')),
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3)
);

create index api_key_workspace_id on wda.api_key (workspace_id);

-- `document` is what was asked for. That a migration runs is told by its owner's advisory lock, not by `state`.
create table wda.migration (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint migration_workspace references wda.workspace (id) on delete cascade,
  state text not null default 'pending'
    constraint migration_state check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  strategy text not null constraint migration_strategy check (strategy in ('online', 'blocking')),
  steps jsonb not null,
  error jsonb,
  document json not null,
  cancel_requested boolean not null default false,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3)
);

create unique index migration_active on wda.migration (workspace_id) where state in ('pending', 'running');
create index migration_workspace_id on wda.migration (workspace_id, id);
