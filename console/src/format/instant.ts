// Moments as text, the same in every locale, with the zone that they are told in.

/** One zone for the whole page. */
export type ZoneName = 'UTC' | 'local';

const two = (part: number): string => String(part).padStart(2, '0');

/** `2026-11-22 11:55:43 UTC`, or with the offset of the browser's zone at that moment. What is no moment stays as it is. */
export function instantText(instant: string, zone: ZoneName): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  const offset = zone === 'UTC' ? 0 : -at.getTimezoneOffset();
  const text = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, 19).replace('T', ' ');
  return `${text} ${zone === 'UTC' ? 'UTC' : offsetText(offset)}`;
}

/** `+05:30`, from minutes. */
const offsetText = (minutes: number): string =>
  `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;

/** The moment of `2026-11-22T11:55`, which a field of type datetime-local has, in the zone; undefined when it is none. */
export function instantOfField(value: string, zone: ZoneName): string | undefined {
  const at = new Date(zone === 'UTC' ? `${value}Z` : value);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** The other way; to the minute. */
export function fieldOfInstant(instant: string, zone: ZoneName): string {
  const text = instantText(instant, zone);
  return text.slice(0, 16).replace(' ', 'T');
}
