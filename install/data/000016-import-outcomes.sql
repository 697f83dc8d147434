-- How imports have ended whose COMMIT was not answered. An import writes its token in its own transaction; whoever asks
-- writes the same token, which waits for that transaction and settles it: of the two rows one exists. Numbers of
-- transactions do not tell this, as PostgreSQL gives them out again after a crash.
create table wda.import_outcome (
  token uuid primary key,
  -- false: somebody asked before the import had committed, so it cannot commit any more.
  is_done bool not null,
  -- Imports remove the rows of a day ago.
  created_at timestamptz not null default clock_timestamp()
);

-- Whether the import has committed. It fails with 55P03 while the import is still at it: the wait is short, as the
-- connection is one of those for short statements.
create function wda.settle_import(import_token uuid) returns bool language sql volatile set lock_timeout = '20ms' as $$
  insert into wda.import_outcome as o (token, is_done) values (import_token, false)
  on conflict (token) do update set is_done = o.is_done returning is_done
$$;
