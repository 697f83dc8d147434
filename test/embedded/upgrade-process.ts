// Upgrades the embedded PostgreSQL of argv[2] and kills itself, as kill -9 does, at the moment argv[3].

import { cloneDatabase } from '../../src/clone/clone.ts';
import { startEmbedded } from '../../src/embedded/embedded.ts';

const [dataDir = '', moment = ''] = process.argv.slice(2);
const ignore = (): void => undefined;
const dieAt = (now: string): void => {
  if (now === moment) process.kill(process.pid, 'SIGKILL');
};

await startEmbedded({
  dataDir,
  stateRoot: `${dataDir}/unused-state`,
  log: { debug: ignore, info: ignore, warn: ignore, error: console.log },
  async clone(clone) {
    const moved = await cloneDatabase({ ...clone, onProgress: () => dieAt('among the rows') });
    dieAt('after the last index');
    return moved;
  },
});
