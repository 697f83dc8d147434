-- Moves of workspaces between the nodes of a cluster.

-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';

-- Part of the versions of records: raised when a move begins and when it has ended, so it is odd while the workspace moves.
alter table wda.workspace add column moves int4 not null default 0;

drop trigger renew_version on wda.workspace;
create trigger renew_version
  before update of version, organization_id, slug, name, database_schema, document, names, gates, entity_ids, epoch, moves
  on wda.workspace for each row execute function wda.renew_version();

set local lock_timeout to default;

create table wda.move (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint move_workspace references wda.workspace (id) on delete cascade,
  -- host:port, as the cluster calls its nodes.
  source text not null,
  target text not null,
  state text not null default 'pending'
    constraint move_state check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  -- As it was when the move was asked for.
  bytes bigint,
  -- How often it was begun: a process that dies leaves it to another.
  attempts int4 not null default 0,
  error text,
  cancel_requested boolean not null default false,
  created_by jsonb not null,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3)
);

create unique index move_active on wda.move (workspace_id) where state in ('pending', 'running');
