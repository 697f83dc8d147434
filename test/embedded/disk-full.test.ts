// A full disk: PostgreSQL cannot write its log and ends; on the reserve it comes up again, for reading and deleting, with
// everything that was acknowledged.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type EmbeddedDatabase, startEmbedded } from '../../src/embedded-postgres/embedded.ts';
import { connect, type KeptLog, keepLog, openFolder, query, until, untilAnswers } from './support.ts';

/** Mounts a small file system, gone after the test; why not, if that cannot be. */
function mountSmall(folder: string): string | undefined {
  mkdirSync(folder);
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=420m,mode=755', 'tmpfs', folder]);
  return status === 0 ? undefined : `a small file system cannot be mounted here: ${error?.message ?? stderr}`;
}

function fill(file: string): void {
  writeFileSync(file, '');
  for (const bytes of [1 << 20, 1 << 12]) {
    const chunk = Buffer.alloc(bytes, 'x');
    try {
      for (;;) appendFileSync(file, chunk);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    }
  }
}

test('on a full disk what was acknowledged can be read and deleted', async (t) => {
  const mount = join(openFolder(t), 'small');
  const reason = mountSmall(mount);
  if (reason !== undefined) return t.skip(reason);
  try {
    const log = keepLog();
    const options = { dataDir: join(mount, 'data'), log, stateRoot: join(mount, 'unused'), reserveEveryMs: 100 };
    const database = await startEmbedded(options);
    try {
      await runOutOfRoom(mount, database, log);
    } finally {
      await database.stop();
    }
  } finally {
    spawnSync('umount', ['-l', mount]);
  }
});

async function runOutOfRoom(mount: string, database: EmbeddedDatabase, log: KeptLog): Promise<void> {
  const { connection, stateDirectory } = database;
  const reserve = join(stateDirectory, 'reserve');
  await until('the reserve is there', () => existsSync(reserve));
  // With the page that the others go to: only the log needs more room.
  await query(connection, 'create table kept as select 0 as n');

  fill(join(mount, 'filler'));
  let acknowledged = 1;
  const client = await connect(connection);
  // Log without end, and a record with each: the first that meets no room for log ends PostgreSQL.
  await assert.rejects(async () => {
    for (;;) {
      await client.query(`insert into kept select ${acknowledged}
        from (select pg_logical_emit_message(true, 'test', repeat('x', 1000000))) as written`);
      acknowledged++;
    }
  });
  await until(`the reserve was given up: ${log.lines.join('\n')}`, () => !existsSync(reserve));
  await untilAnswers(connection);
  assert.match(log.lines.join('\n'), /The disk is full: PostgreSQL starts on the reserve/);
  const found = (await query(connection, 'select n from kept order by n')).map(([n]) => n);
  assert.deepEqual(
    found.slice(0, acknowledged),
    Array.from({ length: acknowledged }, (_, n) => n),
  );
  await query(connection, 'delete from kept');
  assert.deepEqual(await query(connection, 'select count(*)::int from kept'), [[0]]);

  rmSync(join(mount, 'filler'));
  await until('the reserve is there again', () => existsSync(reserve));
  await query(connection, 'insert into kept values (1)');
}
