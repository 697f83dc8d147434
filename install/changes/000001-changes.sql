-- Changes of the records of a workspace: one row for each inserted, updated or deleted record of an entity that keeps
-- changes, written by triggers in the transaction that changes the record. They lie in the PostgreSQL schema of the
-- workspace, and are created when its first entity keeps changes.
--
-- The rules for files are those of install/workspace. Before the first release the tables were others, of a file 000001-base:
-- a database that has run it is refused.

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
  -- From this time on every change is there, of an entity with history for its days.
  since timestamptz(3) not null default now(),
  -- Columns that are never stored.
  omitted text[] not null default '{}',
  -- Its triggers as "$describe_triggers" had them when they were made. Others are an interruption: somebody has changed them.
  triggers text,
  -- When it was noticed that they do not stand; null: they do.
  interrupted_at timestamptz(3)
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
  -- i, u, d: insert, update, delete. t: truncate. b: an import without changes of its own. s: schema. g: triggers were off.
  -- x: the end of the entity or of its changes; `old` has the name of the table.
  kind "char" not null,
  id int8,
  -- JSON of the principal and the request; null or empty for SQL by others.
  actor text,
  -- The record before and after, by the names of its columns.
  old json,
  new json
);

create index "$change_order" on {schema}."$change" (xid, seq);

create unique index "$change_drawn" on {schema}."$change" (seq);

-- Positions of committed changes, in one order for all readers.
create table {schema}."$change_position" (
  pos int8 generated always as identity primary key,
  xid xid8 not null,
  seq int8 not null
);

-- Progress of numbering, one row. Everything that is visible in `seen` has a position. A window up to `until` may be
-- numbered in pieces: `tail` and `seq` are as far as it has come.
create table {schema}."$change_progress" (
  is_only bool primary key default true check (is_only),
  seen pg_snapshot not null default pg_current_snapshot(),
  until pg_snapshot,
  tail int8 not null default 0,
  seq int8 not null default 0,
  -- Last number drawn when the last piece began: later transactions draw greater ones.
  drawn int8 not null default 0,
  -- Transactions from the end of `seen` on, and of `until`, draw greater numbers than these.
  base int8 not null default 0,
  next_base int8 not null default 0,
  -- Where the tables are. Restored by PostgreSQL's own tools they are somewhere else.
  place text not null,
  -- Changes up to this number were restored: their rows were written by another transaction than their records.
  restored int8 not null default 0,
  -- Changes up to this position may be deleted.
  expired int8 not null default 0
);

-- Returns where the tables are: database and table.
create function {schema}."$locate_changes"() returns text language sql stable set search_path = pg_catalog, pg_temp as $$
  select (select oid from pg_database where datname = current_database()) || '/' || '{schema}."$change"'::regclass::oid
$$;

-- Columns that were dropped or renamed in PostgreSQL: images up to `seq` lose the column, or have it by its new name. A
-- column that changed its type is lost, too, with the copy that it had under the new name meanwhile.
create table {schema}."$changed_column" (
  entity int4 not null,
  seq int8 not null,
  name text not null,
  renamed text,
  is_retyped bool not null
);

-- Describes the triggers of a table that keeps changes: a text that differs after anybody has changed one of them, as each
-- change gives its row in the catalog another transaction. Null unless all of them are there and fire.
create function {schema}."$describe_triggers"(place text) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select string_agg(t.tgname || ' ' || t.oid || ' ' || t.xmin, ',' order by t.tgname)
  from pg_class c join pg_trigger t on t.tgrelid = c.oid join pg_proc f on f.oid = t.tgfoid and f.pronamespace = c.relnamespace
  where c.relname = place and c.relnamespace = (select relnamespace from pg_class where oid = '{schema}."$change"'::regclass)
    and t.tgname in ('~change_insert', '~change_update', '~change_delete', '~change_truncate')
    and f.proname like '$keep\_%' and t.tgenabled in ('O', 'A')
  having count(*) = 4
$$;

-- Makes the table keep changes, or changes which columns it omits. Names of triggers begin with ~, which sorts after the
-- names that users give and after the triggers of foreign keys: a deleted record comes before those that its deletion
-- deletes.
--
-- Each table has functions of its own, of one statement without a variable: PL/pgSQL prepares each expression anew in each
-- transaction, and reading an argument of a trigger takes 3 us. All names are qualified, as setting a search path would
-- take 3 us; a condition of the trigger takes 6 us. security definer: a role that writes to the table directly needs no
-- rights on the internal tables. Only the server itself may write without changes.
create function {schema}."$keep_changes"(place text, omitted text[], history bool, days int4) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  entity int4;
  event text;
  name text;
  image constant text := case omitted when '{}' then 'pg_catalog.row_to_json(%s)' else
    '(pg_catalog.row_to_json(%s)::pg_catalog.jsonb operator(pg_catalog.-) ' || quote_literal(omitted) || '::pg_catalog.text[])::pg_catalog.json' end;
  before constant text := ', ' || format(image, 'old');
  after constant text := ', ' || format(image, 'new');
begin
  insert into {schema}."$change_progress" (place) values ({schema}."$locate_changes"()) on conflict do nothing;
  insert into {schema}."$changed_entity" as e (relation, is_kept, is_history, history_days, omitted)
  values (place, true, history, days, omitted)
  on conflict (relation) do update
  set since = case when e.is_kept and (e.is_history or not history) then e.since else now() end, is_kept = true, is_history = history,
    history_days = days, omitted = excluded.omitted,
    interrupted_at = case when e.is_kept and {schema}."$describe_triggers"(place) is distinct from e.triggers
      then coalesce(e.interrupted_at, now()) else case when e.is_kept then e.interrupted_at end end
  returning number into entity;
  foreach event in array array['insert', 'update', 'delete', 'truncate'] loop
    name := format('$keep_%s_%s', entity, event);
    execute format('create or replace function {schema}.%I() returns trigger language plpgsql security definer as %L', name, format(
      'begin
  insert into {schema}."$change" (entity, kind, actor%s)
  select %s, %L, pg_catalog.current_setting(''wda_changes.actor'', true)%s
  where %s((pg_catalog.current_setting(''wda_changes.silent'', true) operator(pg_catalog.=) ''on'') is not true
    or session_user operator(pg_catalog.<>) current_user);
  return null;
end',
      case event when 'insert' then ', id, new' when 'update' then ', id, old, new' when 'delete' then ', id, old' else '' end,
      entity,
      case event when 'truncate' then 't' else left(event, 1) end,
      case event when 'insert' then ', new.id' || after when 'update' then ', new.id' || before || after
        when 'delete' then ', old.id' || before else '' end,
      case event when 'update' then 'not old operator(pg_catalog.*=) new and ' else '' end
    ));
    execute format('revoke all on function {schema}.%I() from public', name);
    execute format(
      'create or replace trigger %I after %s on {schema}.%I for each %s execute function {schema}.%I()',
      '~change_' || event, event, place, case event when 'truncate' then 'statement' else 'row' end, name
    );
    execute format('alter table {schema}.%I enable always trigger %I', place, '~change_' || event);
  end loop;
  update {schema}."$changed_entity" set triggers = {schema}."$describe_triggers"(place) where number = entity;
  perform {schema}."$index_history"();
end $$;

-- Makes the triggers of a table that keeps changes again.
create function {schema}."$repair_triggers"(place text) returns void language sql
set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
  select {schema}."$keep_changes"(e.relation, e.omitted, e.is_history, e.history_days)
  from {schema}."$changed_entity" e join pg_class t on t.relname = e.relation
    and t.relnamespace = (select relnamespace from pg_class where oid = '{schema}."$change"'::regclass)
  where e.relation = place and e.is_kept
$$;

-- Compares the triggers of tables that keep changes with those that were made. Of tables whose triggers somebody has changed
-- and that stand again readers are told to read the records again. Returns the tables whose triggers do not stand, whether
-- this is new, and whether some are missing or were replaced: others are disabled, which is left to whoever has done it.
create function {schema}."$watch_triggers"() returns table (relation text, is_new bool, is_missing bool) language plpgsql
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  e record;
begin
  -- One statement sees an entity and its triggers as of one moment.
  for e in
    select * from (
      select c.number, c.relation, c.triggers, c.interrupted_at, {schema}."$describe_triggers"(c.relation) as present
      from {schema}."$changed_entity" c where c.is_kept and c.relation is not null
    ) c where c.present is distinct from c.triggers or c.interrupted_at is not null
  loop
    if e.present is null then
      update {schema}."$changed_entity" c set interrupted_at = coalesce(c.interrupted_at, now())
      where c.number = e.number and c.is_kept and c.triggers is not distinct from e.triggers;
      continue when not found;
      relation := e.relation;
      is_new := e.interrupted_at is null;
      is_missing := (
        select count(*) < 4 from pg_class t join pg_trigger g on g.tgrelid = t.oid join pg_proc f on f.oid = g.tgfoid and f.pronamespace = t.relnamespace
        where t.relname = e.relation and t.relnamespace = (select relnamespace from pg_class where oid = '{schema}."$change"'::regclass)
          and g.tgname like '~change\_%' and f.proname like '$keep\_%'
      );
      return next;
    else
      update {schema}."$changed_entity" c set triggers = e.present, interrupted_at = null, since = now()
      where c.number = e.number and c.is_kept and c.triggers is not distinct from e.triggers;
      continue when not found;
      insert into {schema}."$change" (entity, kind, new) values (e.number, 'g', '{"reason":"interrupted"}');
    end if;
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
    execute format('drop function if exists {schema}.%I()', format('$keep_%s_%s', entity, event));
  end loop;
  insert into {schema}."$change" (entity, kind, old, new)
  values (entity, 'x', json_build_object('relation', place), json_build_object('reason', reason));
  perform {schema}."$index_history"();
end $$;

-- Gives the changes the index of records while some entity keeps history: it takes 3 us of each write. Making it locks the
-- changes against writes, 0.5 s for a million.
create function {schema}."$index_history"() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_needed constant bool := exists (select from {schema}."$changed_entity" where is_kept and is_history);
  is_there constant bool := to_regclass('{schema}."$change_record"') is not null;
begin
  if is_needed and not is_there then
    create index "$change_record" on {schema}."$change" (entity, id, seq);
  elsif is_there and not is_needed then
    drop index {schema}."$change_record";
  end if;
end $$;

-- Notes that a column of a table was dropped, renamed, or replaced by one of another type.
create function {schema}."$note_column"(place text, column_name text, new_name text, is_retyped bool) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  insert into {schema}."$changed_column" (entity, seq, name, renamed, is_retyped)
  select number, coalesce(pg_sequence_last_value('{schema}."$change_seq"'), 0), column_name, new_name, is_retyped
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

-- Returns an image by the names that columns have now. Its member `$unknown` has the columns with values of another type.
create function {schema}."$rename_image"(number int4, at_seq int8, image json) returns json language plpgsql stable strict
set search_path = pg_catalog, pg_temp as $$
declare
  result jsonb := image::jsonb;
  -- An image that was restored may have some.
  unknown text[] := array(select jsonb_array_elements_text(result -> '$unknown'));
  note record;
begin
  for note in
    select name, renamed, is_retyped from {schema}."$changed_column" where entity = number and seq >= at_seq order by seq, ctid
  loop
    if note.is_retyped then
      if result ? note.name then unknown := unknown || note.renamed; end if;
      result := result - note.name - note.renamed;
    elsif note.renamed is not null and result ? note.name then
      result := (result - note.name) || jsonb_build_object(note.renamed, result -> note.name);
    else
      result := result - note.name;
    end if;
    unknown := array_replace(unknown, note.name, note.renamed);
  end loop;
  if unknown <> '{}' then
    result := result || jsonb_build_object('$unknown', array_remove(unknown, null));
  end if;
  return result::json;
end $$;

-- Gives positions to committed changes, some `most` of them; one caller after the other. Returns whether there is more to do,
-- and how many of which kinds have got one.
--
-- Every committed change becomes visible in some snapshot `until` and was not visible in the one before, so it gets
-- exactly one position. Runs are serialized, and the next one starts after the positions of this one are committed, so
-- readers never see a position before all smaller ones. A transaction is placed by its last change, its tail: a record's
-- changes are in the order of its versions, as the second writer waited for the first; an open transaction delays only
-- itself. Each call looks at `most` changes by their numbers and places the transactions whose last one is among them, so
-- its work is bounded, however much has been written since the last reader.
--
-- pg_snapshot_xmax() is the transaction after the last one that has ended, so transactions beyond it may have begun long
-- before. But they began after the last piece that was committed before the snapshot, which is why `base` is one older.
create function {schema}."$number_changes"(most int4, out more bool, out created int4, out updated int4, out removed int4, out others int4)
language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  p {schema}."$change_progress";
  here text := {schema}."$locate_changes"();
  -- More than anybody has drawn from a sequence since a backup.
  gap constant int8 := 1099511627776;
  last_drawn int8;
  is_new bool;
  looked int4;
  count int4;
  last_looked int8;
  last_tail int8;
  last_seq int8;
begin
  perform pg_advisory_xact_lock(7824481, '{schema}."$change"'::regclass::oid::int4);
  select * into p from {schema}."$change_progress";
  more := false;
  if not found then return; end if;
  -- Before this transaction gets its number.
  last_drawn := coalesce(pg_sequence_last_value('{schema}."$change_seq"'), 0);
  if p.place <> here or pg_snapshot_xmax(p.seen) > pg_snapshot_xmax(pg_current_snapshot()) then
    -- Restored: transaction numbers of another server mean nothing here, and readers and events may be ahead of the
    -- backup. The feed begins anew, beyond all positions and numbers that were ever given.
    perform setval('{schema}."$change_seq"', nextval('{schema}."$change_seq"') + gap);
    update {schema}."$change_progress" set place = here, restored = last_drawn, seen = pg_current_snapshot(), until = null, tail = 0, seq = 0,
      drawn = 0, base = 0, next_base = 0,
      expired = setval(pg_get_serial_sequence('{schema}."$change_position"', 'pos'),
        greatest(p.expired, coalesce((select max(pos) from {schema}."$change_position"), 0)) + gap);
    more := true;
    return;
  end if;
  is_new := p.until is null;
  if is_new then
    p.next_base := p.drawn;
    p.until := pg_current_snapshot();
    p.tail := 0;
    p.seq := 0;
  end if;
  with l as materialized (
    select c.xid, c.seq, c.xmin from {schema}."$change" c where c.seq > greatest(p.base, p.tail) order by c.seq limit most
  ), s as materialized (
    select count(*) as looked, max(l.seq) as last from l
  ), t as materialized (
    -- The transaction that the last piece has left unfinished.
    select c.xid, c.seq as tail from {schema}."$change" c where c.seq = p.tail and p.seq < p.tail
    union all
    select x.xid, m.tail from unnest(array(select pg_snapshot_xip(p.seen))) as x(xid)
    cross join lateral (select max(c.seq) as tail from {schema}."$change" c where c.xid = x.xid) m
    where pg_visible_in_snapshot(x.xid, p.until) and m.tail > p.tail
    union all
    select l.xid, l.seq from l
    where l.xid >= pg_snapshot_xmax(p.seen) and l.xid < pg_snapshot_xmax(p.until) and pg_visible_in_snapshot(l.xid, p.until)
      and not exists (select from {schema}."$change" n where n.xid = l.xid and n.seq > l.seq)
  ), w as (
    select t.tail, c.xid, c.seq, c.kind from t, s
    cross join lateral (
      select c.xid, c.seq, c.kind from {schema}."$change" c
      where c.xid = t.xid and c.seq > case when t.tail = p.tail then p.seq else 0 end
        -- A restored change may have the number of a transaction of this server: its row was written by an earlier one.
        and (c.xmin::text::int8 - (c.xid::text::int8 & 4294967295)) & 4294967295 < 2147483648
      order by c.seq limit most
    ) c
    where s.looked < most or t.tail <= s.last
    order by t.tail, c.seq limit most
  ), o as (
    insert into {schema}."$change_position" (xid, seq) select w.xid, w.seq from w order by w.tail, w.seq
  )
  select s.looked, s.last, n.total, n.created, n.updated, n.removed, n.total - n.created - n.updated - n.removed, e.tail, e.seq
  into looked, last_looked, count, created, updated, removed, others, last_tail, last_seq
  from s cross join (
    select count(*) as total, count(*) filter (where w.kind = 'i') as created, count(*) filter (where w.kind = 'u') as updated,
      count(*) filter (where w.kind = 'd') as removed from w
  ) n left join (select w.tail, w.seq from w order by w.tail desc, w.seq desc limit 1) e on true;
  if count = most then
    update {schema}."$change_progress"
    set until = p.until, next_base = p.next_base, drawn = last_drawn, tail = last_tail, seq = last_seq;
    more := true;
    return;
  end if;
  if looked = most then
    update {schema}."$change_progress"
    set until = p.until, next_base = p.next_base, drawn = last_drawn, tail = last_looked, seq = last_looked;
    more := true;
    return;
  end if;
  if looked > 0 or count > 0 or not is_new or pg_snapshot_xmax(p.until)::text::int8 - pg_snapshot_xmax(p.seen)::text::int8 > 100000 then
    update {schema}."$change_progress"
    set seen = p.until, base = p.next_base, drawn = last_drawn, until = null, tail = 0, seq = 0;
  end if;
  -- The rest of a window that another caller began says nothing of what was committed since.
  more := not is_new;
end $$;
