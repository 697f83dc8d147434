-- Internal objects of a workspace: totals, keys of requests, conflicts of migrations, and the functions that triggers and
-- statements about its records call. They lie in the PostgreSQL schema of the workspace, so that it is complete: a write or
-- a trigger touches no object elsewhere.
--
-- {schema} stands for the quoted name of the schema. Each statement is sent alone; it ends where a line ends with a
-- semicolon and an empty line follows, and has no empty line in it. Names begin with $, as no entity's does.

-- Maintained totals. A writer adds one row and touches no other, so writers never wait for or refuse each other and cost
-- the same however old the oldest snapshot is.
--
-- Rows of a table by `slot`:
--   above 16  what a statement has added: 17 + the number of its transaction
--   below 0   the base: -17 - the first transaction that had not started when it was written. `n` is the sum of all that its
--             snapshot saw; `pending` are the slots of the transactions that had started and not ended by then
-- The total is the newest base plus the slots that it has not seen: those from its own number on, and the pending ones.
-- Dead rows lie outside of the scanned range, so that they cost a list nothing while an old snapshot keeps them. A base
-- whose `pending` is null invalidates all earlier rows. `recount_at`: time at which the table is counted again.
create table {schema}."$total" (
  relid oid not null,
  slot int8 not null,
  n int8 not null,
  -- The table's name: a restored backup gives tables other oids, and with the name no row is taken for one of another
  -- table.
  relation text collate "C" not null,
  pending int8[],
  recount_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Totals are always found by their index. The statistics of an unlucky ANALYZE say that nearly all rows are of one table
-- and above any slot, and then all of it is read, with the rows that an old snapshot keeps. Without statistics of these
-- columns few rows are expected of each table.
do $$ begin
  -- Citus does not propagate this to its nodes, and has no totals.
  if not exists (select from pg_catalog.pg_extension where extname = 'citus') then
    alter table {schema}."$total" alter column relid set statistics 0, alter column slot set statistics 0;
  end if;
end $$;

create index "$total_place" on {schema}."$total" (relid, slot);

-- Returns the total of a table in the snapshot of the statement; null while none is maintained. Lists contain the same
-- query.
create function {schema}."$total_of"(place oid) returns int8 language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when b.pending is not null then b.n
    + (select coalesce(sum(n), 0)::int8 from {schema}."$total" where relid = b.relid and slot >= -b.slot)
    + (select coalesce(sum(n), 0)::int8 from {schema}."$total" where relid = b.relid and slot = any(b.pending)) end
  from {schema}."$total" b where b.relid = place and b.slot < 0 order by b.slot limit 1
$$;

-- security definer: a role that writes to a table directly needs no rights on the internal tables. With the search path of
-- its caller it would look up operators where the caller says.
create function {schema}."$count_records"() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into {schema}."$total" (relid, slot, n, relation)
    select tg_relid, 17 + pg_current_xact_id()::text::int8, count(*), tg_table_name from added having count(*) > 0;
  elsif tg_op = 'DELETE' then
    insert into {schema}."$total" (relid, slot, n, relation)
    select tg_relid, 17 + pg_current_xact_id()::text::int8, -count(*), tg_table_name from removed having count(*) > 0;
  elsif current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    -- The snapshot of the trigger may not see all that was truncated.
    insert into {schema}."$total" (relid, slot, n, relation)
    values (tg_relid, -9223372036854775807, 0, tg_table_name);
  else
    insert into {schema}."$total" (relid, slot, n, relation)
    select tg_relid, 17 + pg_current_xact_id()::text::int8, -kept, tg_table_name
    from {schema}."$total_of"(tg_relid) kept where kept <> 0;
  end if;
  return null;
end $$;

do $$ begin
  -- Citus loses the quotes of the name. Functions of triggers cannot be called directly anyway.
  if not exists (select from pg_catalog.pg_extension where extname = 'citus') then
    revoke all on function {schema}."$count_records"() from public;
  end if;
end $$;

-- Returns whether the total of a table can be trusted. Not when another table has the oid (a restored backup gives other
-- ones) or the base is of another server's transactions; nor when a trigger is missing, disabled, or was disabled before:
-- `enable trigger` leaves 'O'. Logical replication fires no triggers for statements.
create function {schema}."$is_total_kept"(place oid) returns bool language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from (select * from {schema}."$total" where relid = place and slot < 0 order by slot limit 1) b
    join pg_class c on c.oid = b.relid
    where b.pending is not null and b.relation = c.relname
      and c.relnamespace = (select relnamespace from pg_class where oid = '{schema}."$total"'::regclass)
      and -17 - b.slot <= pg_snapshot_xmax(pg_current_snapshot())::text::int8
      and 3 = (
        select count(*) from pg_trigger
        where tgrelid = place and tgfoid = '{schema}."$count_records"'::regproc and tgenabled = 'A'
      )
      and not exists (select from pg_subscription_rel where srrelid = place)
  )
$$;

-- Folds added rows into new bases, one caller at a time; the others do nothing. `is_thorough`: also deletes totals that
-- cannot be trusted, and rows of tables without a base. Returns the number of rows folded, the tables whose totals were
-- deleted, and one that is due to be counted again. A session that counts a table has the lock (7824481, its oid).
create function {schema}."$fold_totals"(is_thorough bool, out folded int8, out forgotten text[], out due text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  place oid := 0;
  base {schema}."$total";
  rows int8;
  bases int8;
begin
  folded := 0;
  forgotten := '{}';
  if not pg_try_advisory_xact_lock(7824481, '{schema}."$total"'::regclass::oid::int4) then
    return;
  end if;
  loop
    select relid into place from {schema}."$total" where relid > place order by relid limit 1;
    exit when not found;
    if is_thorough and not {schema}."$is_total_kept"(place) then
      -- Checked again under the lock, as a base may have been written until then.
      if pg_try_advisory_xact_lock(7824481, place::int4) and not {schema}."$is_total_kept"(place) then
        forgotten := forgotten || array(
          select c.relname::text from pg_class c
          where c.oid = place and c.relnamespace = (select relnamespace from pg_class where oid = '{schema}."$total"'::regclass)
            and exists (select from {schema}."$total" where relid = place and slot < 0)
        );
        delete from {schema}."$total" where relid = place;
      end if;
      continue;
    end if;
    select * into base from {schema}."$total" where relid = place and slot < 0 order by slot limit 1;
    continue when not found or base.pending is null;
    if due is null and (base.recount_at is null or base.recount_at < clock_timestamp()) then
      due := base.relation;
    end if;
    -- Some rows cost a list less than folding them each time. Transactions that have ended need no check.
    continue when (
      select count(*) < 64 from (select from {schema}."$total" where relid = place and slot >= -base.slot limit 64) added
    ) and not exists (
      select from unnest(base.pending) slot
      where pg_visible_in_snapshot((slot - 17)::text::xid8, pg_current_snapshot())
    );
    with gone as (
      delete from {schema}."$total" where ctid = any(array(
        select ctid from {schema}."$total" where relid = place and slot = base.slot
        union all select ctid from {schema}."$total" where relid = place and slot >= -base.slot
        union all select ctid from {schema}."$total" where relid = place and slot = any(base.pending)
      )) returning slot, n
    ), made as (
      insert into {schema}."$total" (relid, slot, n, relation, pending, recount_at)
      select place, -17 - pg_snapshot_xmax(pg_current_snapshot())::text::int8, (select sum(n) from gone), base.relation,
        array(select 17 + xid::text::int8 from pg_snapshot_xip(pg_current_snapshot()) xid), base.recount_at
    )
    select count(*) filter (where slot <> base.slot), count(*) filter (where slot = base.slot) into rows, bases from gone;
    if bases = 0 then
      raise exception 'the total of % is being changed', base.relation using errcode = 'lock_not_available';
    end if;
    folded := folded + rows;
  end loop;
end $$;

-- Records that were written during a change of type with a value that the new type cannot hold. `subject` names the new
-- column. Written by triggers.
create table {schema}."$migration_conflict" (
  subject text not null,
  record_id bigint not null
);

-- Idempotency keys of requests, each with its stored answer. A key is written by the transaction that writes the records.
create table {schema}."$idempotency_key" (
  -- SHA-256 of workspace, principal, method, path and key, so that a reader of this table learns no keys.
  scope bytea primary key,
  -- SHA-256 of query and body.
  fingerprint bytea not null,
  created_at timestamptz not null default now(),
  -- The answer; null only within the transaction that writes.
  status int2,
  etag text,
  location text,
  -- null when there is none, or when it is longer than the limit. Then the records are read again.
  body text,
  -- JSON that describes the records of the answer.
  records text
);

-- For the deletion of expired keys. A block range index costs a write next to nothing.
create index "$idempotency_key_age" on {schema}."$idempotency_key" using brin (created_at);

-- Outcome of imports whose COMMIT was not answered. An import writes its token in its own transaction; a later check writes
-- the same token, which waits for that transaction and settles it: only one of the two rows exists. Numbers of transactions
-- do not prove it, as PostgreSQL reuses them after a crash.
create table {schema}."$import_outcome" (
  token uuid primary key,
  -- false: a check came before the import had committed, so it cannot commit any more.
  is_done bool not null,
  -- Imports delete rows that are older than a day.
  created_at timestamptz not null default clock_timestamp()
);

-- Returns whether the import has committed. It fails with 55P03 while the import still runs: the wait is short, as the
-- connection is one of those for short statements.
create function {schema}."$settle_import"(import_token uuid) returns bool language sql volatile
set search_path = pg_catalog, pg_temp set lock_timeout = '20ms' as $$
  insert into {schema}."$import_outcome" as o (token, is_done) values (import_token, false)
  on conflict (token) do update set is_done = o.is_done returning is_done
$$;

-- Conversions of text to a value of a type; null where it is none. Functions, because only their exception blocks can ask
-- PostgreSQL whether a text is a date; immutable, as none of them depends on a setting; not parallel safe, as an exception
-- block is a subtransaction, which PostgreSQL 15 cannot start in a parallel plan.
--
-- Functions for single values run with the search path of their caller, which is pinned in triggers and confirmed for connections
-- of servers: setting one costs 3 us for each value, twice what the shortest of them take.
create function {schema}."$as_bigint"(value text) returns int8 language plpgsql immutable strict as $$
begin
  return case when value ~ '^-?[0-9]{1,19}$' then value::int8 end;
exception when others then return null;
end $$;

create function {schema}."$as_integer"(value text) returns int4 language plpgsql immutable strict as $$
begin
  return case when value ~ '^-?[0-9]{1,10}$' then value::int4 end;
exception when others then return null;
end $$;

create function {schema}."$as_numeric"(value text) returns numeric language plpgsql immutable strict as $$
declare
  number numeric;
begin
  if value !~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$' then return null; end if;
  number := value::numeric;
  return case when abs(number) < '1e1000'::numeric and scale(number) <= 1000 then number end;
exception when others then return null;
end $$;

-- Returns null for more digits than the type has.
create function {schema}."$as_decimal"(value numeric, whole int4, scale int4) returns numeric
language plpgsql immutable strict parallel safe as $$
begin
  return case when round(value, scale) = value and abs(value) < 10::numeric ^ whole then value end;
end $$;

-- Returns null where the text has more digits than the nearest float.
create function {schema}."$as_float"(value text) returns float8 language plpgsql immutable strict as $$
declare
  nearest float8;
begin
  if value !~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$' then return null; end if;
  nearest := value::float8;
  return case when nearest::text::numeric = value::numeric then nearest end;
exception when others then return null;
end $$;

create function {schema}."$as_date"(value text) returns date language plpgsql immutable strict as $$
begin
  return case when value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then value::date end;
exception when others then return null;
end $$;

-- PostgreSQL accepts hour 24 and second 60, and years beyond 9999; the API does not.
create function {schema}."$as_datetime"(value text) returns timestamptz language plpgsql immutable strict as $$
declare
  moment timestamptz;
begin
  if value !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,3}0*)?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$' then
    return null;
  end if;
  moment := value::timestamptz;
  return case when moment between '0001-01-01T00:00:00Z' and '9999-12-31T23:59:59.999Z' then moment end;
exception when others then return null;
end $$;

create function {schema}."$as_uuid"(value text) returns uuid language plpgsql immutable strict as $$
begin
  return case when value ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then value::uuid end;
exception when others then return null;
end $$;

-- Returns whether a JSON value is within the limits of requests: a number has at most 1,000 digits on each side of the
-- point, and the numbers grow by at most a million characters when they are written without exponents.
create function {schema}."$is_bounded"(value jsonb, written int8) returns bool language plpgsql immutable strict as $$
begin
  return (
    select coalesce(bool_and(abs(n) < '1e1000'::numeric and scale(n) <= 1000), true)
      and coalesce(sum(case when abs(n) < '1e1000'::numeric and scale(n) <= 1000 then length(n::text) end), 0) <= written + 1000000
    from (select j::numeric as n from jsonb_path_query(value, 'strict $.**') j where jsonb_typeof(j) = 'number') numbers
  );
end $$;

create function {schema}."$as_json"(value text) returns jsonb language plpgsql immutable strict as $$
declare
  json jsonb;
begin
  json := value::jsonb;
  -- Only texts that may contain a number beyond the limits are checked number by number.
  if (value ~ '[0-9][eE]' or length(value) > 1000) and not {schema}."$is_bounded"(json, length(value)) then return null; end if;
  -- JSON's null would be shown as no value and yet be one.
  return nullif(json, 'null'::jsonb);
exception when others then return null;
end $$;

-- Returns the text, or fails when it is longer than the limit of an answer. An error, so that the write that caused it is
-- undone; the class of the SQLSTATE is ours.
create function {schema}."$bounded_text"(value text, most int8) returns text language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp as $$
begin
  if octet_length(value) > most then raise exception using errcode = 'WDA54', message = format('an answer would have more than %s bytes', most); end if;
  return value;
end $$;

-- Returns true, or fails when an answer has more bytes than its limit.
create function {schema}."$goes_on"(bytes numeric, most int8) returns bool language plpgsql volatile strict parallel safe
set search_path = pg_catalog, pg_temp as $$
begin
  if bytes > most then raise exception using errcode = 'WDA54', message = format('an answer would have more than %s bytes', most); end if;
  return true;
end $$;

-- Returns the id after advancing the sequence of its table past it, so that no later record gets it. In a short gap each id
-- is drawn with nextval, as creates do, which only advances; a long gap is skipped in one step, by one statement at a time
-- (under the lock of imports): setval would go back if others drew that many ids since the last check.
create function {schema}."$reached_id"(sequence regclass, id int8) returns int8 language plpgsql volatile strict as $$
declare
  last int8 := coalesce(pg_sequence_last_value(sequence), 0);
begin
  if id - last > 100000 then
    perform pg_advisory_xact_lock(7824481, (sequence::oid::int8 & 2147483647)::int4);
    last := coalesce(pg_sequence_last_value(sequence), 0);
    if id - last > 100000 then
      perform setval(sequence, id);
      return id;
    end if;
  end if;
  if id > last then
    perform nextval(sequence) from generate_series(1, id - last);
  end if;
  return id;
end $$;

-- Returns true, or fails when a statement has not changed every record that it should. An error, so that all of it is
-- undone; the class of the SQLSTATE is ours.
create function {schema}."$is_whole"(done int8, wanted int8) returns bool language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
begin
  if done is distinct from wanted then
    raise exception using errcode = 'WDA09', message = format('%s of %s records', done, wanted);
  end if;
  return true;
end $$;

-- Generated values for existing records when their field is added. Citus accepts no volatile function in an update, as each
-- node would evaluate it; here each record is written by one node and stays as written. So it is declared immutable, with
-- the record's id as its argument, so that it is evaluated for each of them.
create function {schema}."$uuid_for"(id int8) returns uuid language plpgsql immutable as $$
begin
  return pg_catalog.gen_random_uuid();
end $$;
