// One time zone for the whole page: UTC, or that of the browser.
import { SegmentedControl } from '@mantine/core';
import { useSyncExternalStore } from 'react';

export type Zone = 'UTC' | 'local';

const KEY = 'wda.zone';
const listeners = new Set<() => void>();
let zone: Zone = stored();

function stored(): Zone {
  try {
    return localStorage.getItem(KEY) === 'local' ? 'local' : 'UTC';
  } catch {
    return 'UTC';
  }
}

function setZone(next: Zone): void {
  zone = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {}
  for (const listener of listeners) listener();
}

export const useZone = (): Zone =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => zone,
  );

export function ZoneSwitch() {
  return (
    <SegmentedControl
      aria-label="Time zone"
      size="xs"
      value={useZone()}
      onChange={(next) => setZone(next as Zone)}
      data={[
        { value: 'UTC', label: 'UTC' },
        { value: 'local', label: 'Local' },
      ]}
    />
  );
}
