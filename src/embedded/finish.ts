// What an upgrade leaves until the operator says that it is not needed any more: the data of before, and their binaries.
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { versionOf } from './cluster.ts';
import { embeddedFailure } from './failure.ts';
import type { Place } from './place.ts';
import { sendSignal } from './process.ts';
import { readStatus } from './status.ts';
import { remove, removing } from './upgrade.ts';

export interface EarlierData {
  readonly directory: string;
  readonly version: string;
}

type Where = Pick<Place, 'dataDirectory' | 'stateDirectory'>;

/** Data of versions before that of the data in use. */
export function earlierData({ dataDirectory, stateDirectory }: Where): readonly EarlierData[] {
  const current = Number(versionOf(dataDirectory) ?? 0);
  return readdirSync(stateDirectory)
    .map((name) => /^data\.(\d+)$/.exec(name)?.[1])
    .filter((version) => version !== undefined && Number(version) < current)
    .map((version) => ({ directory: `${dataDirectory}.${version}`, version: version as string }));
}

export const noticeOf = ({ directory, version }: EarlierData): string =>
  `The data of PostgreSQL ${version} are still in ${directory}; wda upgrade --finish removes them.`;

/** See finishUpgrade(). What is removed has another name first, so that a half is never taken for the whole. */
export async function removeEarlier(place: Where): Promise<readonly string[]> {
  const { stateDirectory, dataDirectory } = place;
  if (existsSync(`${dataDirectory}.next`))
    throw embeddedFailure('An upgrade is on its way.', '', 'Start the server, which ends it.');
  const found = earlierData(place);
  if (found.length === 0) {
    throw embeddedFailure(
      `There is nothing to finish: ${stateDirectory} has no data of an earlier PostgreSQL.`,
      '',
      `Its data are of PostgreSQL ${versionOf(dataDirectory) ?? '(none yet)'}.`,
    );
  }
  for (const { directory } of found) {
    const { pid } = readStatus(directory) ?? {};
    if (pid !== undefined && sendSignal(pid, 0))
      throw embeddedFailure(`A PostgreSQL (process ${pid}) runs on ${directory}.`, '', 'Stop it first.');
  }
  const binaries = (await readdir(stateDirectory)).filter((name) =>
    found.some(({ version }) => new RegExp(`^postgresql-${version}(\\.|$)`).test(name)),
  );
  const paths = [...found.map(({ directory }) => directory), ...binaries.map((name) => join(stateDirectory, name))];
  for (const path of paths) {
    const doomed = join(stateDirectory, `${removing}${path.slice(stateDirectory.length + 1)}`);
    await remove(doomed);
    renameSync(path, doomed);
    await remove(doomed);
  }
  return paths;
}
