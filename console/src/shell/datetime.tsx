// A moment in the zone of the page.
import { momentText, zoneText } from '../format/datetime.ts';
import { useZone, type Zone } from './time-zone.tsx';

/** `2026-11-22 11:55:43 UTC`; to the second. */
export const momentWords = (instant: string, zone: Zone): string =>
  `${momentText(instant, zone).slice(0, 19)} ${zoneText(instant, zone)}`;

/** `instant` in ISO 8601; null: `none` stands there. */
export function Instant({ instant, none = '' }: { readonly instant: string | null; readonly none?: string }) {
  const zone = useZone();
  return instant === null ? (
    none
  ) : (
    <time dateTime={instant} style={{ whiteSpace: 'nowrap' }}>
      {momentWords(instant, zone)}
    </time>
  );
}
