// Display of a date and time in the zone of the page.
import { formatLocal, formatOffset, type TimeZone } from '../format/datetime.ts';
import { useTimeZone } from './time-zone.tsx';

/** Formats to the second: `2026-11-22 11:55:43 UTC`. */
export const formatDateTime = (instant: string, zone: TimeZone): string =>
  `${formatLocal(instant, zone).slice(0, 19)} ${formatOffset(instant, zone)}`;

/** Renders `instant`, which is ISO 8601, or `none` for null. */
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

/** Formats the duration between two times: `1.25 s`; empty while it has not ended. */
export const formatElapsed = (start: string | null, end: string | null): string =>
  start === null || end === null ? '' : `${((Date.parse(end) - Date.parse(start)) / 1000).toFixed(2)} s`;
