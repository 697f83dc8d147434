-- Versions of workspaces that no failover and no restore gives again, and totals whose writers meet nobody.

-- The version of a workspace names what was compiled for it in the memory of every process. Counted one by one, a
-- number would come again for another document when the database goes back in time (failover to a replica that lags, a
-- restore) under running servers. So it is a time in microseconds plus up to a second by chance: the time alone would
-- do, but clocks go back, too. Up to 2^53, so that JavaScript reads it exactly; a clock beyond the year 2112 counts as that.
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
create trigger renew_version before update of version on wda.workspace
  for each row when (new.version <> old.version) execute function wda.renew_version();

-- Kept totals. A writer adds one row and touches no other, so writers wait for nobody, refuse nobody and cost the same
-- however old the oldest snapshot is (slots that were updated: 90 us a write, 5.5 ms after 40,000 writes under one).
--
-- Rows of a table by `slot`:
--   above 16  what a statement has added: 17 + the number of its transaction
--   below 0   the base: -17 - the first transaction that had not begun when it was made. `n` is the sum of all that its
--             snapshot saw; `pending` are the slots of the transactions that had begun and not ended by then
--   0 to 16   what the file before this one kept there, until it is folded
-- The total is the newest base with the slots that it has not seen: those from its own number on, and the pending ones.
-- Rows that are gone lie outside of what is looked at, so that they cost a list nothing while an old snapshot keeps them.
-- A base whose `pending` is null makes void what there was. `recount_at`: when the table is counted again, null for a
-- total that was kept before this file, whose triggers may still be told to stay silent.
--
-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';
lock table wda.total in access exclusive mode;
set local lock_timeout to default;

alter table wda.total drop constraint total_pkey, add column pending int8[], add column recount_at timestamptz;
alter table wda.total reset (fillfactor);
create index total_place on wda.total (relid, slot);

-- A table of a few pages is read whole, by a plan that a connection keeps when the table has grown. So this one has some
-- pages from the beginning, and they stay.
alter table wda.total set (vacuum_truncate = false);
insert into wda.total (relid, slot, n, relation) select 0, 0, 0, 'room' from generate_series(1, 5000);
delete from wda.total where relid = 0;

with gone as (delete from wda.total returning relid, slot, n, relation)
insert into wda.total (relid, slot, n, relation, pending)
select relid, -17 - pg_snapshot_xmax(pg_current_snapshot())::text::int8, sum(n), relation,
  array(select 17 + xid::text::int8 from pg_snapshot_xip(pg_current_snapshot()) xid)
from gone group by relid, relation having bool_or(slot = 16);

-- The total of a table in the snapshot of the statement; null while none is kept. Lists have the same in their own words.
create function wda.total_of(place oid) returns int8 language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when b.pending is not null then b.n
    + (select coalesce(sum(n), 0)::int8 from wda.total where relid = b.relid and slot >= -b.slot)
    + (select coalesce(sum(n), 0)::int8 from wda.total where relid = b.relid and slot = any(b.pending)) end
  from wda.total b where b.relid = place and b.slot < 0 order by b.slot limit 1
$$;

-- May the total of a table be trusted? Not when another table has the number (a restored backup gives other ones) or
-- the base is of another server's transactions; nor when a trigger is gone, silent, or was and is not any more:
-- `enable trigger` leaves 'O' behind. Logical replication fires no triggers for statements.
create function wda.is_total_kept(place oid) returns bool language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from (select * from wda.total where relid = place and slot < 0 order by slot limit 1) b
    join pg_class c on c.oid = b.relid join pg_namespace s on s.oid = c.relnamespace
    where b.pending is not null and b.relation = s.nspname || '.' || c.relname
      and -17 - b.slot <= pg_snapshot_xmax(pg_current_snapshot())::text::int8
      and 3 = (
        select count(*) from pg_trigger where tgrelid = place and tgfoid = 'wda.count_records'::regproc
          and (tgenabled = 'A' or tgenabled = 'O' and b.recount_at is null)
      )
      and not exists (select from pg_subscription_rel where srrelid = place)
  )
$$;

-- security definer: whoever writes to a table directly need not have rights on the platform's own. With the search path
-- of its caller it would look for operators where the caller says.
create or replace function wda.count_records() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into wda.total (relid, slot, n, relation)
    select tg_relid, 17 + pg_current_xact_id()::text::int8, count(*), tg_table_schema || '.' || tg_table_name
    from added having count(*) > 0;
  elsif tg_op = 'DELETE' then
    insert into wda.total (relid, slot, n, relation)
    select tg_relid, 17 + pg_current_xact_id()::text::int8, -count(*), tg_table_schema || '.' || tg_table_name
    from removed having count(*) > 0;
  elsif current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    -- Its snapshot may not see all that it has truncated.
    insert into wda.total (relid, slot, n, relation)
    values (tg_relid, -9223372036854775807, 0, tg_table_schema || '.' || tg_table_name);
  else
    insert into wda.total (relid, slot, n, relation)
    select tg_relid, 17 + pg_current_xact_id()::text::int8, -kept, tg_table_schema || '.' || tg_table_name
    from wda.total_of(tg_relid) kept where kept <> 0;
  end if;
  return null;
end $$;

revoke all on function wda.count_records() from public;

-- Folds what was added into new bases, one caller at a time; the others do nothing. `is_thorough`: forgets totals that
-- cannot be trusted, too, and what triggers add for nobody. Gives the number of rows folded, the tables whose totals
-- were forgotten, and one that is due to be counted again. Whoever counts a table has the lock (7824481, its oid).
create function wda.fold_totals(is_thorough bool, out folded int8, out forgotten text[], out due text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  place oid := 0;
  base wda.total;
  rows int8;
  bases int8;
begin
  folded := 0;
  forgotten := '{}';
  if not pg_try_advisory_xact_lock(7824481, 0) then
    return;
  end if;
  loop
    select relid into place from wda.total where relid > place order by relid limit 1;
    exit when not found;
    if is_thorough and not wda.is_total_kept(place) then
      -- Looked at again under the lock, as a base may have come until then.
      if pg_try_advisory_xact_lock(7824481, place::int4) and not wda.is_total_kept(place) then
        forgotten := forgotten || array(
          select s.nspname || '.' || c.relname from pg_class c join pg_namespace s on s.oid = c.relnamespace
          where c.oid = place and exists (select from wda.total where relid = place and slot < 0)
        );
        delete from wda.total where relid = place;
      end if;
      continue;
    end if;
    select * into base from wda.total where relid = place and slot < 0 order by slot limit 1;
    continue when not found or base.pending is null;
    if due is null and (base.recount_at is null or base.recount_at < clock_timestamp()) then
      due := base.relation;
    end if;
    -- Some rows cost a list less than folding them each time. Transactions that have ended need not be asked for.
    continue when (
      select count(*) < 64 from (select from wda.total where relid = place and slot >= -base.slot limit 64) added
    ) and not exists (
      select from unnest(base.pending) slot
      where pg_visible_in_snapshot((slot - 17)::text::xid8, pg_current_snapshot())
    ) and not exists (select from wda.total where relid = place and slot between 0 and 16);
    with gone as (
      delete from wda.total where ctid = any(array(
        select ctid from wda.total where relid = place and slot = base.slot
        union all select ctid from wda.total where relid = place and slot >= -base.slot
        union all select ctid from wda.total where relid = place and slot = any(base.pending)
        union all select ctid from wda.total where relid = place and slot between 0 and 16
      )) returning slot, n
    ), made as (
      insert into wda.total (relid, slot, n, relation, pending, recount_at)
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
