// Checks the name of a time zone. Only names of the IANA database that have a slash, and UTC: PostgreSQL reads a word
// such as CET or EST as an abbreviation, an offset without summer time, and +02:00 as an offset to the west.
import { badRequest, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';

const UTC = 'UTC';
const ZONE = /^[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+){1,2}$/;
const MAX_CHARACTERS = 50;
// Asking Intl for one zone takes 100 µs, more than everything else that this process does for an aggregate. It knows
// more names than it lists, such as old ones.
const LISTED: ReadonlySet<string> = new Set([UTC, ...Intl.supportedValuesOf('timeZone')]);

/** Returns the zone, or throws 400 for any other text. */
export function parseTimeZone(text: string): string {
  if (text === UTC || (text.length <= MAX_CHARACTERS && ZONE.test(text) && isKnown(text))) return text;
  const suggestion = closest(text, LISTED);
  throw badRequest(
    'INVALID_TIME_ZONE',
    `Unknown time zone ${shorten(text)}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} tz takes UTC or a name of the IANA database such as Europe/Berlin`,
  );
}

function isKnown(zone: string): boolean {
  if (LISTED.has(zone)) return true;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
