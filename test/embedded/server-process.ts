// A server process that the tests can kill: starts or joins the embedded PostgreSQL of argv[2], prints one JSON line
// about it, and stops on SIGTERM.

import { startEmbedded } from '../../src/embedded-postgres/embedded.ts';

const [dataDir, stateRoot] = process.argv.slice(2);
const ignore = () => {};
const error = (message: string, facts?: Record<string, unknown>) => console.log(message, facts);

const database = await startEmbedded({
  dataDir: dataDir!,
  stateRoot: stateRoot!,
  log: { debug: ignore, info: ignore, warn: ignore, error },
}).catch((failure: Error) => {
  console.log(failure.message);
  process.exit(1);
});

process.on('SIGTERM', () => {
  database.stop().then(() => process.exit(0));
});
const { connection, joined, stateDirectory, notices } = database;
console.log(JSON.stringify({ connection, joined, stateDirectory, notices }));
setInterval(ignore, 60_000);
