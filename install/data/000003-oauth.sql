-- OAuth 2.0 of our own: the clients of workspaces.

-- Only the SHA-256 of a secret is kept; deleting a client deletes the row, and its tokens end with it.
create table wda.oauth_client (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint oauth_client_workspace references wda.workspace (id) on delete cascade,
  client_id text collate "C" not null constraint oauth_client_client_id unique,
  name text not null,
  secret_hash bytea not null,
  created_at timestamptz(3) not null default now()
);

create index oauth_client_workspace_id on wda.oauth_client (workspace_id);
