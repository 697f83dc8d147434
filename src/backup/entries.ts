// Members of the entries of a backup, which any program may have written: checked, or the file is damaged.
import { parseDateTime } from '../model/date-time.ts';
import { SLUG_PATTERN } from '../schema/format.ts';
import { backupDamaged } from './errors.ts';
import type { Entry } from './format.ts';

// Pattern of slugs of the admin API.
const SLUG = new RegExp(SLUG_PATTERN);

export function getText(entry: Entry, member: string): string {
  const value = entry[member];
  if (typeof value !== 'string') throw backupDamaged(`its part ${entry.kind} has no ${member}`);
  return value;
}

export const makeInvalidError = ({ kind }: Entry, member: string): Error =>
  backupDamaged(`its part ${kind} has a ${member} that no server gives`);

export function getSlug(entry: Entry, member: string): string {
  const slug = getText(entry, member);
  if (!SLUG.test(slug)) throw makeInvalidError(entry, member);
  return slug;
}

/** Returns a time of an entry; PostgreSQL accepts values that the API cannot show, such as infinity. */
export function getTime(entry: Entry, member: string): string {
  const time = parseDateTime(getText(entry, member));
  if (time === undefined) throw makeInvalidError(entry, member);
  return time;
}
