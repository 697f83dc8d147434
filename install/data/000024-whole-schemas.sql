-- What stands beside the tables of a workspace lies in its own PostgreSQL schema from here on: install/workspace makes it. The
-- tables and functions of this schema that did the same stay for servers of the version before, until a later file drops them.

-- How many of the files of install/workspace have run in a schema: the number of the last, 0 for none.
create function wda.workspace_stage(schema text) returns int4 language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  stage int4;
begin
  execute format('select max(left(name, 6)::int4) from %I."$installed"', schema) into stage;
  return coalesce(stage, 0);
exception when undefined_table then return 0;
end $$;

-- The totals that are kept in a schema, by tables and their names; none before its files have run.
create function wda.kept_totals(schema text) returns table (relid oid, relation text, n int8) language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  return query execute format('select b.relid, b.relation, %1$I."$total_of"(b.relid)
    from (select distinct on (relid) relid, relation from %1$I."$total" where slot < 0 order by relid, slot) b', schema);
exception when undefined_table or undefined_function then return;
end $$;

-- Keys of requests go over to the schemas of their workspaces, each when its files run. Servers of the version before go on
-- with wda.idempotency_key for a while, so a key that they take is told to the workspace when they commit: whoever has the key
-- there is in their way, and they in the way of others. The lock is held by whoever takes the keys over, until the table is seen.

-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';

create index idempotency_key_workspace on wda.idempotency_key (workspace_id);

create function wda.tell_key() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  key wda.idempotency_key := case when tg_op = 'DELETE' then old else new end;
  schema text;
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('stage of workspace ' || key.workspace_id, 0));
  select w.database_schema into schema from wda.workspace w
  where w.id = key.workspace_id and to_regclass(format('%I."$idempotency_key"', w.database_schema)) is not null;
  if not found then
    return null;
  end if;
  if tg_op = 'DELETE' then
    execute format('delete from %I."$idempotency_key" where scope = $1', schema) using key.scope;
  elsif tg_op = 'UPDATE' then
    execute format('update %I."$idempotency_key" set status = $2, etag = $3, location = $4, body = $5, records = $6
      where scope = $1', schema) using key.scope, key.status, key.etag, key.location, key.body, key.records;
  else
    execute format('insert into %I."$idempotency_key" (scope, fingerprint, created_at, status, etag, location, body, records)
      values ($1, $2, $3, $4, $5, $6, $7, $8)', schema)
    using key.scope, key.fingerprint, key.created_at, key.status, key.etag, key.location, key.body, key.records;
  end if;
  return null;
exception when unique_violation then
  -- By this name servers of the version before know that somebody has the key.
  raise unique_violation using message = 'somebody has the key', constraint = 'idempotency_key_pkey';
end $$;

create constraint trigger tell_key after insert or update or delete on wda.idempotency_key
  deferrable initially deferred for each row execute function wda.tell_key();

-- For the transaction that has made the table, and holds the lock above.
create function wda.hand_over_keys(workspace int8, schema text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  execute format('insert into %I."$idempotency_key" (scope, fingerprint, created_at, status, etag, location, body, records)
    select scope, fingerprint, created_at, status, etag, location, body, records from wda.idempotency_key
    where workspace_id = $1', schema) using workspace;
end $$;

set local lock_timeout to default;
