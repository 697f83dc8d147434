-- Totals are always found by their index. PostgreSQL's statistics of the moment in which an ANALYZE comes say that nearly
-- all rows are of one table and above any slot, and then the whole of wda.total is read, with all that an old snapshot keeps
-- in it. Without statistics of these columns few rows are expected of each table.

-- Whoever writes at this moment is waited for, not for long: the start tries again.
set local lock_timeout = '5s';

-- Changing a column's type drops the statistics that there are; the same type rewrites nothing.
alter table wda.total
  alter column relid type oid, alter column slot type int8,
  alter column relid set statistics 0, alter column slot set statistics 0;

set local lock_timeout to default;
