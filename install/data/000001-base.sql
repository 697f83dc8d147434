-- Control rows of workspaces: their schema documents, credentials and migrations. They lie in the database of the records.
-- The rules for files are those of install/control.

-- Each entity of a workspace has an id that is unique for all time: it stays when the entity is renamed, and is not reused
-- after its deletion. Credentials that are limited to some entities store these ids.
create sequence wda.entity_id;

-- Returns the ids of entities by name. `before` has the previous name of each renamed entity, which keeps its id. Others
-- get new ids.
create function wda.entity_ids(ids jsonb, names text[], before text[]) returns jsonb
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(n.name, coalesce(ids -> n.before, to_jsonb(nextval('wda.entity_id')))), '{}')
  from unnest(names, before) n (name, before)
$$;

-- A schema document that many workspaces of an organization have, and its versions, which never change.
create table wda.shared_schema (
  id bigint generated always as identity primary key,
  organization_id bigint not null constraint shared_schema_organization references wda.organization (id) on delete cascade,
  name text collate "C" not null,
  description text,
  created_at timestamptz(3) not null default now(),
  constraint shared_schema_name unique (organization_id, name)
);

create table wda.shared_schema_version (
  shared_schema_id bigint not null constraint shared_schema_version_schema references wda.shared_schema (id) on delete cascade,
  version int4 not null,
  document json not null,
  -- Numbers of entities, columns and relations that they keep through renames (src/schema/identities.ts).
  identities json not null,
  -- What it changes in the version before.
  steps json not null,
  created_at timestamptz(3) not null default now(),
  created_by jsonb,
  primary key (shared_schema_id, version)
);

create table wda.workspace (
  id bigint generated always as identity primary key,
  organization_id bigint not null constraint workspace_organization references wda.organization (id),
  slug text collate "C" not null,
  name text not null,
  database_schema text collate "C" not null constraint workspace_database_schema unique,
  -- Raised by every change of anything that belongs to the workspace, so that all processes see it.
  version bigint not null default 1,
  -- json, not jsonb: jsonb forgets the order of the members, and fields are shown in the order they were written in.
  document json not null,
  -- Names of tables and columns in PostgreSQL that differ from the document, for example after a renaming.
  names jsonb not null default '{"tables": {}, "columns": {}}',
  -- Requests that a running migration refuses, by entity; empty at all other times.
  gates jsonb not null default '{}',
  -- Names of tables ("orders") and columns ("orders.total") that were in use recently, with the time at which they were
  -- released. Statements of an older snapshot may still use them, so no other object gets such a name.
  freed jsonb not null default '{}',
  entity_ids jsonb not null default '{}',
  -- Part of the versions of records and of cursors. A version is the number of a transaction, and a restored workspace has
  -- other ones: without the epoch an ETag from before the restore could, by chance, equal that of another record.
  epoch text collate "C" not null default left(replace(gen_random_uuid()::text, '-', ''), 8),
  -- Part of the versions of records: raised when a move to another node starts and when it has ended, so it is odd while
  -- the workspace moves.
  moves int4 not null default 0,
  -- Limits of the workspace, by name; what is missing is that of the organization.
  limits jsonb not null default '{}' constraint workspace_limits check (jsonb_typeof(limits) = 'object'),
  -- Origins whose pages may use the workspace, a list of texts; null for those of the server.
  cors_origins json constraint workspace_cors_origins check (json_typeof(cors_origins) = 'array'),
  -- Whether the data API reads and writes, only reads, or does neither.
  state text not null default 'active' constraint workspace_state check (state in ('active', 'readOnly', 'suspended')),
  -- The version of a shared schema that the document is; null for a workspace with a document of its own.
  shared_schema_id bigint,
  shared_schema_version int4,
  created_at timestamptz(3) not null default now(),
  constraint workspace_slug unique (organization_id, slug),
  constraint workspace_shared_schema foreign key (shared_schema_id, shared_schema_version)
    references wda.shared_schema_version (shared_schema_id, version) match full
);

-- The workspaces that follow a shared schema, in the order of their slugs.
create index workspace_shared_schema on wda.workspace (shared_schema_id, slug) where shared_schema_id is not null;

-- Workspaces whose names in PostgreSQL differ from the document: few, and selected every 5 s.
create index workspace_names on wda.workspace (id) where names <> '{"tables": {}, "columns": {}}';

-- Use of workspaces by day (UTC): requests as processes add them, and the size when it was measured last. `measured_requests`:
-- the number of requests by then, so that only workspaces in use are measured again.
create table wda.usage_day (
  workspace_id bigint not null constraint usage_day_workspace references wda.workspace (id) on delete cascade,
  day date not null,
  requests bigint not null default 0,
  records bigint,
  bytes bigint,
  measured_requests bigint,
  measured_at timestamptz(3),
  primary key (workspace_id, day)
);

create index usage_day_day on wda.usage_day (day);

-- Only the SHA-256 of a key is stored; revoking deletes the row. `entities`: ids of the entities that it may access; null
-- for all.
create table wda.api_key (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint api_key_workspace references wda.workspace (id) on delete cascade,
  name text not null,
  prefix text not null,
  hash bytea not null constraint api_key_hash unique,
  permissions text not null constraint api_key_permissions check (permissions in ('OWNER', 'READ_WRITE', 'READ_ONLY', 'GRANTS')),
  -- Roles and claims of a key that is held to grants: {"roles": [], "claims": {}}.
  grants json constraint api_key_grants check ((permissions = 'GRANTS') = (grants is not null)),
  entities bigint[]
    constraint api_key_entities check (array_position(entities, null) is null and (entities is null or permissions <> 'OWNER')),
  expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  -- Author of the key; null for a key that the first start of the server created.
  created_by jsonb,
  last_used_at timestamptz(3)
);

create index api_key_workspace_id on wda.api_key (workspace_id);

-- Only the SHA-256 of a secret is stored; deleting a client deletes the row, and its tokens end with it.
create table wda.oauth_client (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint oauth_client_workspace references wda.workspace (id) on delete cascade,
  client_id text collate "C" not null constraint oauth_client_client_id unique,
  name text not null,
  secret_hash bytea not null,
  permissions text not null constraint oauth_client_permissions check (permissions in ('OWNER', 'READ_WRITE', 'READ_ONLY', 'GRANTS')),
  grants json constraint oauth_client_grants check ((permissions = 'GRANTS') = (grants is not null)),
  entities bigint[]
    constraint oauth_client_entities check (array_position(entities, null) is null and (entities is null or permissions <> 'OWNER')),
  created_at timestamptz(3) not null default now()
);

create index oauth_client_workspace_id on wda.oauth_client (workspace_id);

-- The identity provider whose users may use a workspace (OpenID Connect Discovery 1.0, RFC 7519), at most one each.
-- `issuer_url` is compared with the tokens' `iss` to the byte.
create table wda.identity_provider (
  workspace_id bigint primary key constraint identity_provider_workspace references wda.workspace (id) on delete cascade,
  issuer_url text collate "C" not null,
  jwks_uri text collate "C",
  audience text collate "C",
  default_permissions text not null
    constraint identity_provider_default_permissions check (default_permissions in ('READ_ONLY', 'READ_WRITE')),
  enabled boolean not null,
  -- Claim with the roles of a user.
  role_claim text,
  -- Claims that a token must carry, with their values; null for none. json, not jsonb: numbers keep their digits.
  required_claims json constraint identity_provider_required_claims check (json_typeof(required_claims) = 'object'),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

-- For the admin API, which finds the workspaces of an external user's token by its issuer.
create index identity_provider_issuer_url on wda.identity_provider (issuer_url) where enabled;

-- Settings of a workspace for agents (MCP), which limit them beyond their credentials. A workspace without a row has the
-- defaults: agents may use it, and only read. `entities`: ids of the entities that they may access; null for all.
create table wda.agent_settings (
  workspace_id bigint primary key references wda.workspace (id) on delete cascade,
  enabled boolean not null,
  writes text not null check (writes in ('off', 'confirm', 'on')),
  entities bigint[]
);

-- Webhooks: a stored place in the feed of changes of the workspace, from which one process at a time sends on (the lease). What
-- an administrator sets, then how far it has come.
create table wda.webhook (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint webhook_workspace references wda.workspace (id) on delete cascade,
  name text not null,
  url text not null,
  -- Ids of entities; null for all that keep changes.
  entities bigint[] constraint webhook_entities check (array_position(entities, null) is null),
  types text[] not null constraint webhook_types check (types <@ array['created', 'updated', 'removed', 'schema']),
  -- Names of fields, and a filter as of a query, of the only entity; null for all fields and all records.
  fields text[] constraint webhook_fields check (fields is null or cardinality(entities) = 1),
  filter json constraint webhook_filter check (filter is null or cardinality(entities) = 1),
  previous boolean not null,
  max_batch int4 not null constraint webhook_max_batch check (max_batch between 1 and 100),
  ordering text not null constraint webhook_ordering check (ordering in ('relaxed', 'strict')),
  -- Secrets are sealed with a key that follows from a secret of the installation. `headers`: a JSON object, empty after a
  -- restore until there are new values; `secret`: text, null after a restore until there is a new one.
  header_names text[] not null,
  headers bytea not null,
  secret bytea,
  previous_secret bytea,
  previous_secret_until timestamptz(3),
  enabled boolean not null,
  disabled_reason text
    constraint webhook_disabled_reason check (disabled_reason in ('administrator', 'failing', 'gone', 'restored', 'invalid')),
  created_at timestamptz(3) not null default now(),
  created_by jsonb,
  -- Everything up to this position is done; null: it begins at the moment when it is enabled.
  position int8,
  -- Epoch of the workspace that the positions belong to.
  epoch text collate "C",
  -- The message under way, with its first and last position and the number of its attempts; null between messages.
  first_position int8,
  last_position int8,
  attempts int4 not null default 0,
  -- Up to this position events of a batch that was refused are sent one by one.
  single_until int8,
  -- Failed attempts since the last success, and the time of the first one.
  failures int4 not null default 0,
  failing_since timestamptz(3),
  last_attempt_at timestamptz(3),
  last_status int4,
  -- Time at which there is something to do; null: when its workspace changes.
  due_at timestamptz(3) default now(),
  -- When it had nothing to do: the last number of changes of its workspace, and the transactions that were open after that.
  watched_sequence int8,
  watched_snapshot pg_snapshot,
  -- The process that sends.
  lease uuid,
  lease_until timestamptz(3),
  constraint webhook_name unique (workspace_id, name),
  constraint webhook_disabled check (enabled = (disabled_reason is null)),
  constraint webhook_range check ((first_position is null) = (last_position is null))
);

create index webhook_due on wda.webhook (due_at) where enabled;

-- Views of the records of an entity that people have saved in the console.
create table wda.saved_view (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint saved_view_workspace references wda.workspace (id) on delete cascade,
  -- Id of the entity (wda.entity_id): a view follows a rename, and goes with its entity.
  entity_id bigint not null,
  -- Id of the credential or person that it belongs to.
  owner text collate "C" not null,
  name text not null,
  shared boolean not null,
  -- Raised by each change, as entity tag.
  version int4 not null default 1,
  content json not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by jsonb,
  constraint saved_view_name unique (workspace_id, owner, entity_id, name)
);

-- The messages of webhooks, until their time is over. A message that is replayed has its row again.
create table wda.webhook_delivery (
  id bigint generated always as identity primary key,
  webhook_id bigint not null constraint webhook_delivery_webhook references wda.webhook (id) on delete cascade,
  message_id text collate "C" not null,
  -- That of the event, or `changes`.
  type text not null,
  events int4 not null,
  first_position int8 not null,
  last_position int8 not null,
  epoch text collate "C" not null,
  state text not null
    constraint webhook_delivery_state check (state in ('pending', 'delivered', 'failed', 'discarded')),
  attempts int4 not null default 0,
  -- The last attempts: [{at, status, error, durationMs, responseBody}].
  attempt_log json not null default '[]',
  -- The text that is sent: all attempts of a message that is not delivered yet have the same.
  body text,
  last_status int4,
  last_error text,
  created_at timestamptz(3) not null default now(),
  delivered_at timestamptz(3),
  next_attempt_at timestamptz(3),
  -- Time of a request to send it again, out of turn.
  redeliver_at timestamptz(3),
  constraint webhook_delivery_message unique (webhook_id, message_id)
);

create index webhook_delivery_webhook_id on wda.webhook_delivery (webhook_id, id);

create index webhook_delivery_pending on wda.webhook_delivery (webhook_id) where state = 'pending';

create index webhook_delivery_redeliver on wda.webhook_delivery (webhook_id, redeliver_at) where redeliver_at is not null;

create index webhook_delivery_created_at on wda.webhook_delivery (created_at);

-- Writes by filter of more records than one transaction changes. One process at a time carries a job out, in batches (the
-- lease). A job that has ended stays for some days, without what it was about.
create table wda.write_job (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint write_job_workspace references wda.workspace (id) on delete cascade,
  -- Id of the entity.
  entity bigint not null,
  operation text not null constraint write_job_operation check (operation in ('update', 'delete')),
  state text not null default 'running'
    constraint write_job_state check (state in ('running', 'succeeded', 'failed', 'cancelled')),
  -- Hash of the principal, who may see it, as administrators may.
  owner text collate "C" not null,
  -- JSON: the principal, and the body of the request; null when the job has ended.
  sender text,
  body text,
  -- Records: found at the start, those whose turn is over, and those that were changed or deleted.
  matched int4 not null,
  processed int4 not null default 0,
  written int4 not null default 0,
  -- As `error` of a refusal.
  error json,
  created_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  -- Time of the next turn, and failed attempts of the batch.
  due_at timestamptz(3) not null default now(),
  attempts int4 not null default 0,
  lease uuid,
  lease_until timestamptz(3),
  constraint write_job_ended check ((state = 'running') = (ended_at is null))
);

create index write_job_workspace_id on wda.write_job (workspace_id, id);

create index write_job_running on wda.write_job (workspace_id, id) where state = 'running';

create index write_job_ended_at on wda.write_job (ended_at);

-- The ids that matched, until their batch is done.
create table wda.write_job_batch (
  job_id bigint not null constraint write_job_batch_job references wda.write_job (id) on delete cascade,
  number int4 not null,
  ids bigint[] not null,
  primary key (job_id, number)
);

-- `document` is the requested document. A migration runs while its owner holds the advisory lock, whatever `state` says.
create table wda.migration (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint migration_workspace references wda.workspace (id) on delete cascade,
  state text not null default 'pending'
    constraint migration_state check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  strategy text not null constraint migration_strategy check (strategy in ('online', 'blocking')),
  steps jsonb not null,
  error jsonb,
  document json not null,
  -- Objects that the migration creates before the switch, to be dropped when it fails.
  made jsonb not null default '[]',
  -- Session that the migration waits for: {pid, application, since}; null while it does not wait.
  waiting jsonb,
  cancel_requested boolean not null default false,
  created_by jsonb,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3)
);

create unique index migration_active on wda.migration (workspace_id) where state in ('pending', 'running');

create index migration_workspace_id on wda.migration (workspace_id, id);

-- Rollouts of versions of shared schemas to the workspaces that follow them, and plans of rollouts (`is_plan`), which change
-- nothing and are deleted after a day. Any process takes the next workspace: see wda.rollout_workspace.
create table wda.rollout (
  id bigint generated always as identity primary key,
  shared_schema_id bigint not null,
  version int4 not null,
  is_plan boolean not null,
  state text not null default 'planning'
    constraint rollout_state check (state in ('planning', 'running', 'paused', 'succeeded', 'finishedWithFailures', 'cancelled')),
  -- Waves are numbered from 1; workspaces of later ones wait.
  wave int4 not null default 1,
  last_wave int4 not null,
  -- Whether it pauses after each wave.
  confirms boolean not null,
  max_failures int4 not null,
  concurrency int4 not null constraint rollout_concurrency check (concurrency between 1 and 16),
  allow_destructive boolean not null,
  skip_conflicts boolean not null,
  -- Whether it is for all that follow, also those that begin to meanwhile.
  takes_all boolean not null,
  -- Workspaces that have failed since it was started, resumed or tried again.
  failures int4 not null default 0,
  created_by jsonb,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  constraint rollout_version foreign key (shared_schema_id, version)
    references wda.shared_schema_version (shared_schema_id, version) on delete cascade
);

create unique index rollout_active on wda.rollout (shared_schema_id)
  where not is_plan and state in ('planning', 'running', 'paused');

create index rollout_shared_schema on wda.rollout (shared_schema_id, id);

create index rollout_open on wda.rollout (id) where state in ('planning', 'running');

-- Workspaces of rollouts, in the order of `position`. A process works on one while it holds its lease.
create table wda.rollout_workspace (
  rollout_id bigint not null constraint rollout_workspace_rollout references wda.rollout (id) on delete cascade,
  workspace_id bigint not null constraint rollout_workspace_workspace references wda.workspace (id) on delete cascade,
  position int4 not null,
  wave int4 not null,
  state text not null
    constraint rollout_workspace_state check (state in ('waiting', 'running', 'succeeded', 'unchanged', 'failed', 'skipped')),
  migration_id bigint,
  error jsonb,
  -- The result of a plan: records in the way, and whether something would be dropped.
  conflicts jsonb,
  destructive boolean not null default false,
  -- Times that it was taken since it last waited for its turn.
  attempts int4 not null default 0,
  -- No attempt before this time; null for now.
  due_at timestamptz(3),
  lease uuid,
  lease_until timestamptz(3),
  primary key (rollout_id, workspace_id)
);

create index rollout_workspace_workspace_id on wda.rollout_workspace (workspace_id);

create index rollout_workspace_state on wda.rollout_workspace (rollout_id, state, position);

create index rollout_workspace_open on wda.rollout_workspace (rollout_id, position) where state in ('waiting', 'running');

create index rollout_workspace_lease on wda.rollout_workspace (lease_until) where state = 'running';

-- Moves of workspaces between the nodes of a cluster.
create table wda.move (
  id bigint generated always as identity primary key,
  workspace_id bigint not null constraint move_workspace references wda.workspace (id) on delete cascade,
  -- host:port, in the notation of the cluster.
  source text not null,
  target text not null,
  state text not null default 'pending'
    constraint move_state check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  -- Size at the time of the request.
  bytes bigint,
  -- Number of starts: when a process dies another one starts the move again.
  attempts int4 not null default 0,
  error text,
  cancel_requested boolean not null default false,
  created_by jsonb not null,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3)
);

create unique index move_active on wda.move (workspace_id) where state in ('pending', 'running');

-- People who have signed in to the console with the installation's OpenID provider, as of their last sign-in. Only those who
-- were members, or operators, at that time.
create table wda.person (
  id bigint generated always as identity primary key,
  issuer text collate "C" not null,
  subject text collate "C" not null,
  name text not null,
  -- In lower case; null unless the provider has verified it.
  email text collate "C",
  -- Values of the claim for roles.
  claims text[] not null,
  created_at timestamptz(3) not null default now(),
  last_sign_in_at timestamptz(3) not null default now(),
  constraint person_subject unique (issuer, subject)
);

-- Who may do what in an organization with all of its workspaces (`workspace_id` is null), or in one workspace: a mail address,
-- which the first person who signs in with it takes (`person_id`), or everybody whose claim for roles has the value.
create table wda.member (
  id bigint generated always as identity primary key,
  organization_id bigint not null constraint member_organization references wda.organization (id) on delete cascade,
  workspace_id bigint constraint member_workspace references wda.workspace (id) on delete cascade,
  email text collate "C",
  claim text collate "C",
  role text not null constraint member_role check (role in ('owner', 'editor', 'viewer')),
  person_id bigint constraint member_person references wda.person (id) on delete set null,
  created_at timestamptz(3) not null default now(),
  created_by jsonb,
  constraint member_is_one check (num_nonnulls(email, claim) = 1)
);

create unique index member_once
  on wda.member (organization_id, coalesce(workspace_id, 0), coalesce(email, ''), coalesce(claim, ''));

create index member_workspace_id on wda.member (workspace_id);

create index member_person_id on wda.member (person_id);

create index member_email on wda.member (email);

create index member_claim on wda.member (claim);

-- Sessions of the console: the key that was exchanged for the session, or the person who has signed in. They lie next to the
-- keys, whose deletion ends them. Requests read the row each time, so the end of a session is in force at once, in every
-- process.
create table wda.session (
  -- Id of the session in lists; the secret is in the cookie.
  id bigint generated always as identity primary key,
  -- SHA-256 of the id in the cookie.
  id_hash bytea not null constraint session_id_hash unique,
  api_key_id bigint constraint session_api_key references wda.api_key (id) on delete cascade,
  person_id bigint constraint session_person references wda.person (id) on delete cascade,
  -- SHA-256 (hex) of the operator's key: the session ends with it.
  operator_hash text,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  user_agent text not null,
  constraint session_subject check (num_nonnulls(api_key_id, person_id, operator_hash) = 1)
);

create index session_api_key_id on wda.session (api_key_id);

create index session_person_id on wda.session (person_id);

create index session_expires_at on wda.session (expires_at);

-- Links that sign the operator in once.
create table wda.console_link (
  -- SHA-256 of the code in the link.
  code_hash bytea primary key,
  operator_hash text not null,
  expires_at timestamptz(3) not null
);

-- Log of changes, written in the transaction of the change. No foreign keys: entries outlive the workspace and the key of
-- their author. `actor_id` is the id of a credential, never the credential.
create table wda.activity (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  actor_kind text not null,
  actor_id text not null,
  actor_name text not null,
  -- Subject of a person at the provider.
  actor_subject text,
  action text not null,
  -- Slugs at the time of the change.
  organization text,
  workspace text,
  workspace_id bigint,
  entity text,
  subject text not null,
  details jsonb not null
);

create index activity_workspace on wda.activity (workspace_id, id);

create index activity_at on wda.activity (at);

-- The server processes that answer requests from memory. A process that changes something requests a comparison from all
-- others (`asked` grows) and waits until each has confirmed (`heard` follows); a row that lags for about a second belongs
-- to a process that answers no request from memory any more, and is deleted. There are no writes here while there are no
-- changes.
create table wda.process (
  id uuid primary key,
  -- Host and process id, for display.
  place text not null,
  asked bigint not null default 0,
  heard bigint not null default 0,
  -- Workspaces of the requests in flight at the last confirmation, each with the oldest version that one was planned by.
  busy jsonb not null default '{}',
  started_at timestamptz(3) not null default now()
);

-- The version of a workspace identifies compiled data in the memory of every process. A counter would reach the same number
-- for another document when the database goes back in time (failover to a replica that lags, a restore) under running
-- servers. So it is a time in microseconds plus up to a second by chance: the time alone would do, but clocks go back, too.
-- Up to 2^53, so that JavaScript reads it exactly; a clock beyond the year 2112 counts as that.
create function wda.renew_version() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.version := greatest(
    case when tg_op = 'UPDATE' then old.version end,
    least(extract(epoch from clock_timestamp()) * 1000000, 4503599627370496)::int8
  ) + 1 + floor(random() * 1000000)::int8;
  return new;
end $$;

create trigger renew_version_at_insert before insert on wda.workspace
  for each row execute function wda.renew_version();

-- The database raises the version, so that no statement can forget it: by every change of a row that the snapshot of the
-- workspace or a cached decision on a credential was built from. The name is in no snapshot, but costs nothing.
create trigger renew_version
  before update of version, organization_id, slug, name, database_schema, document, names, gates, entity_ids, epoch, moves, cors_origins, state, limits
  on wda.workspace for each row execute function wda.renew_version();

-- A snapshot contains the slug of its organization, and its limits.
create function wda.renew_versions_of_organization() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update wda.workspace set version = version + 1 where organization_id = new.id;
  return null;
end $$;

create trigger renew_versions after update of slug, name, limits on wda.organization
  for each row execute function wda.renew_versions_of_organization();

-- For rows that belong to a workspace. When the workspace itself is deleted, with these rows, there is no row to update.
create function wda.renew_version_of_workspace() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op <> 'INSERT' then
    update wda.workspace set version = version + 1 where id = old.workspace_id;
  end if;
  if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.workspace_id <> old.workspace_id then
    update wda.workspace set version = version + 1 where id = new.workspace_id;
  end if;
  return null;
end $$;

-- Not for `last_used_at`: it is written every few seconds, and no cached decision depends on it.
create trigger renew_version
  after insert or delete or update of workspace_id, name, prefix, hash, permissions, expires_at, entities
  on wda.api_key for each row execute function wda.renew_version_of_workspace();

create trigger renew_version after insert or delete or update
  on wda.oauth_client for each row execute function wda.renew_version_of_workspace();

create trigger renew_version after insert or delete or update
  on wda.identity_provider for each row execute function wda.renew_version_of_workspace();

-- Of an organization: all of its workspaces have the member.
create function wda.renew_versions_of_member() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  changed wda.member := case when tg_op = 'DELETE' then old else new end;
begin
  update wda.workspace set version = version + 1
  where organization_id = changed.organization_id and id = coalesce(changed.workspace_id, id);
  return null;
end $$;

-- A sign-in that lacks a claim of the one before ends memberships.
create function wda.renew_versions_of_person() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update wda.workspace w set version = version + 1
  where exists (
    select from wda.member m where m.claim = any(old.claims) and not m.claim = any(new.claims)
      and m.organization_id = w.organization_id and coalesce(m.workspace_id, w.id) = w.id
  );
  return null;
end $$;

create trigger renew_versions after update of claims on wda.person
  for each row when (not old.claims <@ new.claims) execute function wda.renew_versions_of_person();

create trigger renew_versions after insert or delete or update of role, person_id
  on wda.member for each row execute function wda.renew_versions_of_member();

create trigger renew_version after insert or delete or update
  on wda.agent_settings for each row execute function wda.renew_version_of_workspace();

-- Workspaces maintain the table of slugs (install/control).
create function wda.keep_slug() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into wda.slug_holder as s (organization_id, slug, workspace_id)
  values (new.organization_id, new.slug, new.id)
  on conflict (organization_id, slug) do update set workspace_id = excluded.workspace_id, redirect_until = null
  where s.workspace_id <> excluded.workspace_id or s.redirect_until is not null;
  return null;
end $$;

create trigger keep_slug after insert or update of slug on wda.workspace for each row execute function wda.keep_slug();

-- Creates an extension in this schema, so that one serves all workspaces and is dropped with none of them; an existing one
-- stays where it is. Returns its schema.
create function wda.use_extension(name text) returns text language plpgsql as $$
declare
  place text;
begin
  select nspname into place from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = name;
  if place is not null then
    return place;
  end if;
  -- Without the lock two sessions would both create it, and one of them fail.
  perform pg_advisory_xact_lock(hashtextextended('wda.use_extension', 0));
  select nspname into place from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = name;
  if place is null then
    execute format('create extension %I schema wda', name);
    place := 'wda';
  end if;
  return place;
end
$$;

-- Creates "$words"(text) in the schema, unless it exists: a text as words of lower-case letters and digits without accents,
-- separated by one space, whatever the locale of the database makes of signs; PostgreSQL's parser would take
-- ann@example.com for one word. PostgreSQL accepts an expression for an index only if it is immutable, which unaccent is
-- not declared to be, as its rules are a file. A tsvector takes at most 1 MB in PostgreSQL: 100,000 characters cannot make
-- a longer one.
--
-- The cost, that of a text of 1 KB, makes PostgreSQL search words in their index and not compute those of every record, 1
-- to 5 ms for a text of 9 KB: while new entries of the index wait in its pending list, it estimated the index as nearly as
-- expensive as reading the table.
create function wda.use_words(schema text) returns void language plpgsql as $$
declare
  place text := wda.use_extension('unaccent');
begin
  if to_regprocedure(format('%I."$words"(text)', schema)) is not null then
    return;
  end if;
  execute format(
    $function$create function %1$I."$words"(text) returns text language sql immutable strict parallel safe cost 10000
return left(regexp_replace(replace(lower(%2$I.unaccent(%3$L::regdictionary,
  case when octet_length($1) = char_length($1) then left($1, 100000) else normalize(left($1, 100000), NFC) end
) collate "und-x-icu"), 'ς', 'σ') collate "und-x-icu", '[^[:alnum:]]+', ' ', 'g'), 100000)$function$,
    schema, place, format('%I.unaccent', place));
end
$$;

-- Drops the function unless an index uses it.
create function wda.leave_words(schema text) returns void language plpgsql as $$
begin
  execute format('drop function if exists %I."$words"(text)', schema);
exception
  when dependent_objects_still_exist then null;
end
$$;

-- Returns the maintained totals in the schema of a workspace, by tables and their names; none when it is dropped meanwhile.
create function wda.kept_totals(schema text) returns table (relid oid, relation text, n int8) language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  return query execute format('select b.relid, b.relation, %1$I.%2$I(b.relid)
    from (select distinct on (relid) relid, relation from %1$I."$total" where slot < 0 order by relid, slot) b',
    schema, '$total_of_' || split_part(schema, '_', 1));
exception when undefined_table or undefined_function then return;
end $$;
