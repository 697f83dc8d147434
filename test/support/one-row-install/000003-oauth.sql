-- OAuth 2.0 of our own: the clients of workspaces, and the keys that sign their tokens.

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

-- One key signs at a time, for all processes. `private_jwk` is the key itself: whoever reads it can sign tokens, so a
-- dump of this table is as secret as the records. Rotation erases it; the public half stays until the last token that
-- the key may have signed has expired. `token_lifetime_seconds` is the longest lifetime that a process gave its tokens.
create table wda.signing_key (
  id bigint generated always as identity primary key,
  kid text collate "C" not null constraint signing_key_kid unique,
  public_jwk json not null,
  private_jwk json,
  token_lifetime_seconds integer not null,
  created_at timestamptz(3) not null default now(),
  rotated_at timestamptz(3),
  constraint signing_key_private check ((private_jwk is null) = (rotated_at is not null))
);

create unique index signing_key_one_signs on wda.signing_key ((true)) where rotated_at is null;
