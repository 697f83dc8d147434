// A user gets the same answers whether hidden records exist or not, byte for byte, and writes leave the same records.
// `npm run access:fuzz -- --seed 7 --requests 20000` draws other requests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzWorlds, type Tally } from '../../support/access-fuzz.ts';
import { skipOnCluster } from '../../support/citus.ts';
import { useIssuer, useServer } from '../../support/resources.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

// Enough that every kind of request is done, and not only refused.
const MANY = 800;
const SEED = Number(process.env.FUZZ_SEED ?? 20_261);
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? MANY);
const REQUESTS_OF_PAIR = 50;

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);

const KINDS =
  'list query walk read aggregate export description feed history single bulk batch import conditional'.split(' ');

test(
  'answers and states are the same in a world with hidden records and in one without them',
  skipOnCluster('records are put into tables whose triggers are off'),
  async (context) => {
    const tally: Tally = new Map();
    for (let pair = 0; pair * REQUESTS_OF_PAIR < REQUESTS; pair++) {
      const count = Math.min(REQUESTS_OF_PAIR, REQUESTS - pair * REQUESTS_OF_PAIR);
      const difference = await fuzzWorlds(server, issuer, SEED + pair, count, tally);
      if (difference !== undefined) assert.fail(difference);
    }
    const outcomes = [...tally.keys()];
    const refused = KINDS.filter((kind) => !outcomes.some((outcome) => outcome.startsWith(`${kind} 20`)));
    if (REQUESTS >= MANY) assert.deepEqual(refused, []);
    if (process.env.FUZZ_REQUESTS !== undefined)
      for (const [outcome, count] of [...tally].sort()) context.diagnostic(`${count} ${outcome}`);
  },
);
