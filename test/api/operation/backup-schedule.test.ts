// Backups that the server makes by itself: one a day for all processes, the oldest go when a newer one is whole, and one that
// fails leaves the others alone.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import pg from 'pg';
import { isCluster } from '../../support/citus.ts';
import { isWaiting, lockWhole } from '../../support/database.ts';
import { prepare, use, useDatabase, useServer } from '../../support/resources.ts';
import { ADMIN_KEY, startTestServer, type TestServer } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { makeShop } from '../../support/shop.ts';
import { until } from '../../support/wait-until.ts';

const folder = mkdtempSync(join(tmpdir(), 'wda-backups-'));

const old = ['2001-01-01', '2001-01-02', '2001-01-03'].map((day) => `wda-${day}T030000Z.wda`);
const wholeIn = (place: string): string[] =>
  readdirSync(place).filter((name) => /^wda-20[^1]\d.*\.wda$/.test(name) && !old.includes(name));

const database = useDatabase();
const server = useServer({}, { database });
const shop = use(() => makeShop(server));
const elsewhere = useServer();

const over = (env: Readonly<Record<string, string>>): Promise<TestServer> => startTestServer(env, database);

test('of two processes one makes the backup that is due, and the oldest go', async () => {
  const place = join(folder, 'daily');
  mkdirSync(place);
  for (const name of [...old, 'wda-2001-01-04T030000Z.wda.part', 'notes.txt']) writeFileSync(join(place, name), 'old');
  assert.ok((await shop.call('tags')).status === 200);
  const env = { WDA_BACKUP_DIR: place, WDA_BACKUP_KEEP: '2' };
  const processes = [await over(env), await over(env)];
  await until('a backup is there', async () => wholeIn(place).length > 0 && readdirSync(place).length === 3);
  const [name = ''] = wholeIn(place);
  assert.deepEqual(readdirSync(place).sort(), ['notes.txt', old[2], name].sort());
  assert.equal(statSync(join(place, name)).mode & 0o777, 0o600);
  const madeBy = async (one: TestServer): Promise<number> =>
    Number(/wda_backups_total\{kind="made"\} (\d)/.exec(await one.metrics())?.[1]);
  await until('it is told', async () => {
    const [a = 0, b = 0] = await Promise.all(processes.map(madeBy));
    return a + b === 1;
  });
  for (const one of processes) await one.stop();

  const { status, text } = await elsewhere.call('/api/admin/v1/restore', {
    method: 'POST',
    credential: ADMIN_KEY,
    headers: { 'content-type': 'application/octet-stream' },
    body: readFileSync(join(place, name)),
  });
  assert.equal(status, 200, text);
  const there = await elsewhere.call('/api/v1/acme/shop/tags', { credential: shop.key });
  assert.deepEqual(there.json, (await shop.call('tags')).json);
});

test('a backup of another day is made by a process that starts later', async () => {
  const place = join(folder, 'later');
  await server.database.query(`update wda.instance set value = '978317990' where name = 'backup_made'`);
  const one = await over({ WDA_BACKUP_DIR: place });
  await until('a backup is there', async () => readdirSync(folder).includes('later') && wholeIn(place).length === 1);
  await one.stop();
});

test('a folder that cannot be written to is told, and the next process tries again', async () => {
  const place = join(folder, 'a-file');
  writeFileSync(place, '');
  await server.database.query(`delete from wda.instance where name = 'backup_made'`);
  const one = await over({ WDA_BACKUP_DIR: place });
  await until('it has failed', async () => /wda_backups_total\{kind="failed"\} 1/.test(await one.metrics()));
  await one.stop();
  const other = await over({ WDA_BACKUP_DIR: join(folder, 'good') });
  await until(
    'a backup is there',
    async () => readdirSync(folder).includes('good') && wholeIn(join(folder, 'good')).length === 1,
  );
  await other.stop();
});

test('a backup whose process is killed is made by the next one', { skip: isCluster }, async () => {
  const place = join(folder, 'killed');
  await server.database.query(`delete from wda.instance where name = 'backup_made'`);
  const schema = (await server.database.query(`select database_schema as name from wda.workspace`))[0]?.name;
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query(`begin; ${lockWhole(`${schema}.tags`)}`);
    const killed = await startServerProcess({ DATABASE_URL: database.url, WDA_BACKUP_DIR: place });
    await until('the backup waits for a table', () => isWaiting(database, 'lock table%in access share mode'));
    await killed.kill();
  } finally {
    await client.end();
  }
  const next = await over({ WDA_BACKUP_DIR: place });
  await until('a backup is there', async () => wholeIn(place).length === 1);
  await next.stop();
});

const disk = join(folder, 'disk');
let isMounted = false;
prepare(() => {
  mkdirSync(disk);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
  isMounted = status === 0;
});
after(() => {
  if (isMounted) spawnSync('umount', [disk]);
  rmSync(folder, { recursive: true, force: true });
});

test('on a disk that fills the old backups stay, and the half one goes', async (context) => {
  if (!isMounted) return context.skip('only root may mount a small disk');
  for (const name of old) writeFileSync(join(disk, name), 'old');
  writeFileSync(join(disk, 'filler'), Buffer.alloc(45_000));
  await server.database.query(`delete from wda.instance where name = 'backup_made'`);
  const schema = (await server.database.query(`select database_schema as name from wda.workspace`))[0]?.name;
  await server.database.query(
    `insert into ${schema}.tags (name) select md5(g::text) || md5((g + 1)::text) from generate_series(1, 20000) g`,
  );
  const one = await over({ WDA_BACKUP_DIR: disk, WDA_BACKUP_KEEP: '1' });
  await until('it has failed', async () => /wda_backups_total\{kind="failed"\} 1/.test(await one.metrics()));
  assert.deepEqual(readdirSync(disk).sort(), ['filler', ...old].sort());
  await one.stop();
});
