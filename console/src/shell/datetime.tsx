// A moment in the zone of the page.
import { formatLocal, formatOffset } from '../format/datetime.ts';
import { type TimeZone, useTimeZone } from './time-zone.tsx';

/** `2026-11-22 11:55:43 UTC`; to the second. */
export const formatDateTime = (instant: string, zone: TimeZone): string =>
  `${formatLocal(instant, zone).slice(0, 19)} ${formatOffset(instant, zone)}`;

/** `instant` in ISO 8601; null: `none` stands there. */
export function DateTime({ instant, none = '' }: { readonly instant: string | null; readonly none?: string }) {
  const zone = useTimeZone();
  return instant === null ? (
    none
  ) : (
    <time dateTime={instant} style={{ whiteSpace: 'nowrap' }}>
      {formatDateTime(instant, zone)}
    </time>
  );
}
