// Times and durations of migrations, in the zone of the page.
import { useTimeZone } from '../shell/time-zone.tsx';

/** `2026-11-22 10:15:00 UTC`, or in the zone of the browser with its offset. */
export function Time({ at }: { readonly at: string }) {
  const zone = useTimeZone();
  return (
    <time dateTime={at}>{zone === 'UTC' ? `${at.slice(0, 19).replace('T', ' ')} UTC` : localText(new Date(at))}</time>
  );
}

const two = (number: number): string => String(number).padStart(2, '0');

function localText(at: Date): string {
  const offset = -at.getTimezoneOffset();
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return `${date} ${time} ${offset < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`;
}

/** How long it took: `1.25 s`; empty while it has not ended. */
export function secondsBetween(begin: string | null, end: string | null): string {
  if (begin === null || end === null) return '';
  return `${((Date.parse(end) - Date.parse(begin)) / 1000).toFixed(2)} s`;
}
