-- Changes of the records of a workspace: one row for each inserted, updated or deleted record of an entity that keeps
-- changes, written by triggers in the transaction that changes the record. They lie in the PostgreSQL schema of the
-- workspace, and are created when its first entity keeps changes.
--
-- The rules for files are those of install/workspace.

-- Entities that keep changes, or kept them. The number of an entity stays when its table is renamed.
create table {schema}."$changed_entity" (
  number int4 generated always as identity primary key,
  -- Name of the table, or null when it was dropped.
  relation text collate "C" unique,
  -- Whether its triggers are there.
  is_kept bool not null,
  -- Whether its changes are kept beyond the time of feeds, and for how many days; null: the default of the installation.
  is_history bool not null,
  history_days int4,
  -- From this time on every change is there.
  since timestamptz(3) not null default now()
);

create sequence {schema}."$change_seq";

create table {schema}."$change" (
  -- Drawn while the record is locked, so the changes of a record are in the order of its versions.
  seq int8 not null default nextval('{schema}."$change_seq"'),
  -- The transaction, also within savepoints.
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz(3) not null default now(),
  -- Number of its entity.
  entity int4 not null,
  -- i, u, d: insert, update, delete. t: truncate. s: schema. x: the end of the entity or of its changes.
  kind "char" not null,
  id int8,
  -- JSON of the principal and the request; null for SQL by others.
  actor text,
  -- The record before and after, by the names of its columns.
  old json,
  new json
);

create index "$change_order" on {schema}."$change" (xid, seq);

create index "$change_record" on {schema}."$change" (entity, id, seq);

-- Positions of committed changes, in one order for all readers.
create table {schema}."$change_position" (
  pos int8 generated always as identity primary key,
  xid xid8 not null,
  seq int8 not null
);

-- Progress of numbering, one row. Everything that is visible in `seen` has a position. A window up to `until` may be
-- numbered in pieces: `tail` and `seq` are the last row that has a position.
create table {schema}."$change_progress" (
  is_only bool primary key default true check (is_only),
  seen pg_snapshot not null default pg_current_snapshot(),
  until pg_snapshot,
  tail int8 not null default 0,
  seq int8 not null default 0,
  -- Epoch of the workspace whose transaction numbers these are.
  epoch text not null default '',
  -- Changes up to this position may be deleted.
  expired int8 not null default 0
);

-- Columns that were dropped or renamed in PostgreSQL: images up to `seq` lose the column, or have it by its new name.
create table {schema}."$changed_column" (
  entity int4 not null,
  seq int8 not null,
  name text not null,
  renamed text
);

-- Writes the change of a record. Arguments: number of the entity, and the columns that are never stored, as an array.
-- All names are qualified, as setting a search path would take 3 us for each record. security definer: a role that writes
-- to the table directly needs no rights on the internal tables.
create function {schema}."$keep_change"() returns trigger language plpgsql security definer as $$
declare
  who text := nullif(pg_catalog.current_setting('wda_changes.actor', true), '');
  before json;
  after json;
begin
  -- Only the server itself may write without changes.
  if pg_catalog.current_setting('wda_changes.silent', true) operator(pg_catalog.=) 'on' and session_user operator(pg_catalog.=) current_user then
    return null;
  end if;
  if tg_op operator(pg_catalog.=) 'UPDATE' then
    if old operator(pg_catalog.*=) new then return null; end if;
    before := pg_catalog.row_to_json(old);
    after := pg_catalog.row_to_json(new);
    if tg_nargs operator(pg_catalog.=) 2 then
      before := (before::pg_catalog.jsonb operator(pg_catalog.-) tg_argv[1]::text[])::json;
      after := (after::pg_catalog.jsonb operator(pg_catalog.-) tg_argv[1]::text[])::json;
    end if;
    insert into {schema}."$change" (entity, kind, id, actor, old, new)
    values (tg_argv[0]::pg_catalog.int4, 'u', new.id, who, before, after);
  elsif tg_op operator(pg_catalog.=) 'INSERT' then
    after := pg_catalog.row_to_json(new);
    if tg_nargs operator(pg_catalog.=) 2 then
      after := (after::pg_catalog.jsonb operator(pg_catalog.-) tg_argv[1]::text[])::json;
    end if;
    insert into {schema}."$change" (entity, kind, id, actor, new)
    values (tg_argv[0]::pg_catalog.int4, 'i', new.id, who, after);
  elsif tg_op operator(pg_catalog.=) 'DELETE' then
    before := pg_catalog.row_to_json(old);
    if tg_nargs operator(pg_catalog.=) 2 then
      before := (before::pg_catalog.jsonb operator(pg_catalog.-) tg_argv[1]::text[])::json;
    end if;
    insert into {schema}."$change" (entity, kind, id, actor, old)
    values (tg_argv[0]::pg_catalog.int4, 'd', old.id, who, before);
  else
    insert into {schema}."$change" (entity, kind, actor) values (tg_argv[0]::pg_catalog.int4, 't', who);
  end if;
  return null;
end $$;

revoke all on function {schema}."$keep_change"() from public;

-- Makes the table keep changes, or changes which columns it omits. Names of triggers begin with ~, which sorts after the
-- names that users give and after the triggers of foreign keys: a deleted record comes before those that its deletion
-- deletes.
create function {schema}."$keep_changes"(place text, omitted text[], history bool, days int4) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  entity int4;
  event text;
begin
  insert into {schema}."$change_progress" default values on conflict do nothing;
  insert into {schema}."$changed_entity" as e (relation, is_kept, is_history, history_days) values (place, true, history, days)
  on conflict (relation) do update
  set since = case when e.is_kept then e.since else now() end, is_kept = true, is_history = history,
    history_days = days
  returning number into entity;
  foreach event in array array['insert', 'update', 'delete', 'truncate'] loop
    execute format(
      'create or replace trigger %I after %s on {schema}.%I for each %s execute function {schema}."$keep_change"(%s)',
      '~change_' || event, event, place, case event when 'truncate' then 'statement' else 'row' end,
      case when omitted = '{}' then quote_literal(entity) else quote_literal(entity) || ', ' || quote_literal(omitted) end
    );
    execute format('alter table {schema}.%I enable always trigger %I', place, '~change_' || event);
  end loop;
end $$;

-- Ends the keeping of changes. What was kept stays until its time is over. `reason`: off, or dropped.
create function {schema}."$drop_changes"(place text, reason text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  entity int4;
  event text;
begin
  update {schema}."$changed_entity" set is_kept = false, relation = case when reason <> 'dropped' then relation end
  where relation = place returning number into entity;
  if not found then return; end if;
  foreach event in array array['insert', 'update', 'delete', 'truncate'] loop
    execute format('drop trigger if exists %I on {schema}.%I', '~change_' || event, place);
  end loop;
  insert into {schema}."$change" (entity, kind, new) values (entity, 'x', json_build_object('reason', reason));
end $$;

-- Notes that a column of a table was dropped, or renamed.
create function {schema}."$note_column"(place text, column_name text, new_name text) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  insert into {schema}."$changed_column" (entity, seq, name, renamed)
  select number, coalesce(pg_sequence_last_value('{schema}."$change_seq"'), 0), column_name, new_name
  from {schema}."$changed_entity" where relation = place
$$;

-- Makes one change of several updates of a record by this transaction: records that take over unique values of each other
-- have spare values in between, which nobody is to see.
create function {schema}."$merge_changes"() returns void language sql set search_path = pg_catalog, pg_temp as $$
  with u as materialized (
    select seq, first_value(old) over w as before, row_number() over w as n, count(*) over (partition by entity, id) as total
    from {schema}."$change" where xid = pg_current_xact_id() and kind = 'u' window w as (partition by entity, id order by seq)
  ), gone as (
    delete from {schema}."$change" c using u where c.xid = pg_current_xact_id() and c.seq = u.seq and u.n < u.total
  )
  update {schema}."$change" c set old = u.before
  from u where c.xid = pg_current_xact_id() and c.seq = u.seq and u.n = u.total and u.total > 1
$$;

-- Returns an image by the names that columns have now.
create function {schema}."$rename_image"(number int4, at_seq int8, image json) returns json language plpgsql stable strict
set search_path = pg_catalog, pg_temp as $$
declare
  result jsonb := image::jsonb;
  note record;
begin
  for note in
    select name, renamed from {schema}."$changed_column" where entity = number and seq >= at_seq order by seq, ctid
  loop
    if note.renamed is not null and result ? note.name then
      result := (result - note.name) || jsonb_build_object(note.renamed, result -> note.name);
    else
      result := result - note.name;
    end if;
  end loop;
  return result::json;
end $$;

-- Gives positions to committed changes, `most` at a time; one caller after the other, or with `waits` false one alone.
-- Returns the number of changes, or null when another caller is at it.
--
-- Every committed change becomes visible in some snapshot `until` and was not visible in the one before, so it gets
-- exactly one position. Runs are serialized, and the next one starts after the positions of this one are committed, so
-- readers never see a position before all smaller ones. A transaction is placed by its last change: a record's changes are
-- in the order of its versions, as the second writer waited for the first; an open transaction delays only itself.
create function {schema}."$number_changes"(most int4, waits bool, current_epoch text) returns int4 language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  p {schema}."$change_progress";
  count int4;
  last_tail int8;
  last_seq int8;
begin
  if waits then
    perform pg_advisory_xact_lock(7824481, '{schema}."$change"'::regclass::oid::int4);
  elsif not pg_try_advisory_xact_lock(7824481, '{schema}."$change"'::regclass::oid::int4) then
    return null;
  end if;
  select * into p from {schema}."$change_progress";
  if not found then return 0; end if;
  if p.epoch <> current_epoch then
    -- Transaction numbers of another server mean nothing here: what has no position gets one in the order of writing.
    with w as (
      select c.xid, c.seq from {schema}."$change" c
      where not exists (select from {schema}."$change_position" o where o.xid = c.xid and o.seq = c.seq)
      order by c.seq
    )
    insert into {schema}."$change_position" (xid, seq) select xid, seq from w order by seq;
    get diagnostics count = row_count;
    update {schema}."$change_progress" set epoch = current_epoch, seen = pg_current_snapshot(), until = null;
    return count;
  end if;
  if p.until is null then
    p.until := pg_current_snapshot();
    p.tail := 0;
    p.seq := 0;
  end if;
  with a as (
    select xid, seq from {schema}."$change"
    where xid >= pg_snapshot_xmax(p.seen) and xid < pg_snapshot_xmax(p.until) and pg_visible_in_snapshot(xid, p.until)
    union all
    select xid, seq from {schema}."$change"
    where xid = any(array(select pg_snapshot_xip(p.seen))) and pg_visible_in_snapshot(xid, p.until)
  ), b as (
    select xid, seq, max(seq) over (partition by xid) as tail from a
  ), w as (
    select * from b where (tail, seq) > (p.tail, p.seq) order by tail, seq limit most
  ), o as (
    insert into {schema}."$change_position" (xid, seq) select xid, seq from w order by tail, seq returning seq
  )
  select count(*), (select tail from w order by tail desc, seq desc limit 1), (select seq from w order by tail desc, seq desc limit 1)
  into count, last_tail, last_seq from w;
  if count = most then
    update {schema}."$change_progress" set until = p.until, tail = last_tail, seq = last_seq;
  elsif count > 0 or p.tail > 0 or pg_snapshot_xmax(p.until)::text::int8 - pg_snapshot_xmax(p.seen)::text::int8 > 100000 then
    update {schema}."$change_progress" set seen = p.until, until = null, tail = 0, seq = 0;
  end if;
  return count;
end $$;
