-- Numbers of records, kept by the transactions that change them, so that a total does not count. Of a table's rows here
-- the one with slot 16 holds what there was when the keeping began, and is there once the sum is right; the others hold
-- what writers added since. A writer takes a slot that nobody else holds, so a long import makes nobody wait.
create table wda.total (
  relid oid not null,
  slot int8 not null,
  n int8 not null,
  -- A restored backup gives tables other oids: together with the name no row passes for one of another table.
  relation text collate "C" not null,
  primary key (relid, slot)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- security definer: whoever writes to a table directly need not have rights on the platform's own.
create function wda.count_records() returns trigger language plpgsql security definer as $$
declare
  changed int8;
begin
  if tg_op = 'TRUNCATE' then
    update wda.total set n = 0 where relid = tg_relid;
    return null;
  elsif tg_op = 'INSERT' then
    select count(*) into changed from added;
  else
    select -count(*) into changed from removed;
  end if;
  if changed = 0 then
    return null;
  end if;
  update wda.total set n = n + changed where ctid = (
    select ctid from wda.total where relid = tg_relid and slot = pg_backend_pid() & 15 for update skip locked
  );
  if not found then
    update wda.total set n = n + changed where ctid = (
      select ctid from wda.total where relid = tg_relid and slot <> 16 limit 1 for update skip locked
    );
  end if;
  if not found then
    insert into wda.total (relid, slot, n, relation)
    values (tg_relid, 17 + pg_current_xact_id()::text::int8, changed, tg_table_schema || '.' || tg_table_name);
  end if;
  return null;
end $$;
