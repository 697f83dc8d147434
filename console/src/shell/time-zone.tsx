// One time zone for the whole page: UTC, or that of the browser.
import { SegmentedControl } from '@mantine/core';
import { useSyncExternalStore } from 'react';

export type TimeZone = 'UTC' | 'local';

const KEY = 'wda.zone';
const listeners = new Set<() => void>();
let zone: TimeZone = readStored();

function readStored(): TimeZone {
  try {
    return localStorage.getItem(KEY) === 'local' ? 'local' : 'UTC';
  } catch {
    return 'UTC';
  }
}

function setZone(next: TimeZone): void {
  zone = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {}
  for (const listener of listeners) listener();
}

export const useTimeZone = (): TimeZone =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => zone,
  );

export function TimeZoneSwitch() {
  return (
    <SegmentedControl
      aria-label="Time zone"
      size="xs"
      value={useTimeZone()}
      onChange={(next) => setZone(next as TimeZone)}
      data={[
        { value: 'UTC', label: 'UTC' },
        { value: 'local', label: 'Local' },
      ]}
    />
  );
}
