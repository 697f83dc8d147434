// A moment in the zone of the page.
import { instantText } from '../format/instant.ts';
import { useZone } from './zone.tsx';

/** `instant` in ISO 8601; null: `none` stands there. */
export function Instant({ instant, none = '' }: { readonly instant: string | null; readonly none?: string }) {
  const zone = useZone();
  return instant === null ? none : <time dateTime={instant}>{instantText(instant, zone)}</time>;
}
