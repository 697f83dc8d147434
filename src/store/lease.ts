// Leases of rows that one process at a time works on. Times are those of PostgreSQL, so no clock of another machine counts.
import { type Fragment, sql } from '../sql/fragment.ts';

/** End of a new lease: a process that is killed gives its work to others after this time, and their next look. */
export const LEASE = sql`clock_timestamp() + interval '15 s'`;

/** Renders whether no process holds the lease of the row. */
export const isFree = (row: Fragment): Fragment =>
  sql`(${row}.lease_until is null or ${row}.lease_until < clock_timestamp())`;
