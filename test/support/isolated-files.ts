// The test files that have a process of their own, and why. All others share a few.

export const ALONE: readonly (readonly [start: string, reason: string])[] = [
  ['test/chaos/', 'kills what it starts while clients measure how long they wait'],
  ['test/cluster/', 'is of a Citus cluster, whose databases take locks of each other'],
  ['test/embedded/', 'sets the umask, and counts the processes below this one'],
  ['test/failover/', 'measures how long requests wait while servers end'],
  ['test/pooler/', 'ends and starts the pooler of its servers'],
  ['test/console/', 'has a browser'],
  [
    'test/client/frontends.test.ts',
    'gives its process the globals of a page, as `Event`, which readers of streams cannot work with',
  ],
  ['test/client/walk.test.ts', 'measures the memory of a process'],
  ['test/api/operation/topology.test.ts', 'looks which files its process loads'],
  ['test/packages/', 'installs packages'],
  ['test/unit/console/records/form-draft.test.ts', 'sets the time zone of the process'],
  ['test/unit/console/format/datetime.test.ts', 'sets the time zone of the process'],
  ['test/unit/data-api/import/rows.test.ts', 'measures the heap and collects garbage'],
];

/** The reason, or undefined where the file may share a process. */
export function reasonToRunAlone(file: string): string | undefined {
  return ALONE.find(([start]) => file.startsWith(start))?.[1];
}
