// `npm run access:fuzz -- --seed N --requests N`: test/api/access/differences.test.ts, grants-property.test.ts and
// test/api/events/views.test.ts with other requests, and as many. A difference ends it with exit code 1 and its seed, with
// which --seed repeats it.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';

const { seed = Math.floor(Math.random() * 1_000_000), requests } = new Command('npm run access:fuzz --')
  .description(
    'Sends the requests of users to worlds with hidden records and without them, and under random grants, follows their feeds, and compares the answers.',
  )
  .option('--seed <n>', 'which requests; default: others each time', whole)
  .option(
    '--requests <n>',
    'how many to each world, as many under grants, and a 200th of them workspaces with feeds',
    whole,
    20_000,
  )
  .parse()
  .opts<{ readonly seed?: number; readonly requests: number }>();

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

// A workspace whose feeds are followed takes as long as these.
const REQUESTS_OF_VIEWS = 200;

process.stdout.write(`seed ${seed}\n`);
const { status } = spawnSync(
  process.execPath,
  [
    join(import.meta.dirname, 'run.ts'),
    'test/api/access/differences.test.ts',
    'test/api/access/grants-property.test.ts',
    'test/api/events/views.test.ts',
  ],
  {
    cwd: join(import.meta.dirname, '..'),
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_SEED: String(seed),
      FUZZ_REQUESTS: String(requests),
      FUZZ_VIEWS: String(Math.ceil(requests / REQUESTS_OF_VIEWS)),
    },
  },
);
process.exit(status ?? 1);
