-- Who changed what, written in the transaction of the change. No foreign keys: what was done in a workspace is told when
-- the workspace is gone, and by whom when the key is. `actor_id` is the id of a credential, never the credential.
create table wda.activity (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  actor_kind text not null,
  actor_id text not null,
  actor_name text not null,
  action text not null,
  -- Slugs, as they were.
  organization text,
  workspace text,
  workspace_id bigint,
  entity text,
  subject text not null,
  details jsonb not null
);

create index activity_workspace on wda.activity (workspace_id, id);
create index activity_at on wda.activity (at);

-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';

-- null: made before this was noted.
alter table wda.api_key add column created_by jsonb;
alter table wda.migration add column created_by jsonb;

set local lock_timeout to default;
