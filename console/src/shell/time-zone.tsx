// Time zone for the whole page: UTC, or that of the browser.
import { SegmentedControl } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import type { TimeZone } from '../format/datetime.ts';

const useStoredTimeZone = () =>
  useLocalStorage<TimeZone>({ key: 'wda.zone', defaultValue: 'UTC', getInitialValueInEffect: false });

export const useTimeZone = (): TimeZone => (useStoredTimeZone()[0] === 'local' ? 'local' : 'UTC');

export function TimeZoneSwitch() {
  const [, setZone] = useStoredTimeZone();
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
