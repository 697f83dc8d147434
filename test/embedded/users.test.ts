// Whom PostgreSQL runs as: root gives it an unprivileged user and a place that this user can reach; an ordinary user
// runs it as itself. Most of this needs root to be tried out.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installedBinaries, usableBinaries } from '../../src/embedded-postgres/binaries.ts';
import { startEmbedded } from '../../src/embedded-postgres/embedded.ts';
import { canExecute, findClosedDirectory, isRoot, unprivilegedUser } from '../../src/embedded-postgres/user.ts';
import { keepLog, openFolder, query, startProcess } from './support.ts';

const nobody = { uid: 65534, gid: 65534 };
const root = isRoot() ? {} : { skip: 'only root can try this' };

test('the user is postgres, else nobody, else it says so', (t) => {
  const file = join(openFolder(t), 'passwd');
  const lines = ['root:x:0:0::/:/bin/sh', 'nobody:x:65534:65533::/:', 'postgres:x:101:104::/:/bin/sh'];
  writeFileSync(file, lines.join('\n'));
  assert.deepEqual(unprivilegedUser(file), { uid: 101, gid: 104 });
  writeFileSync(file, lines.slice(0, 2).join('\n'));
  assert.deepEqual(unprivilegedUser(file), { uid: 65534, gid: 65533 });
  writeFileSync(file, lines[0]!);
  assert.throws(() => unprivilegedUser(file), /neither a user postgres nor a user nobody/);
});

test('a directory is reached by its owner, its group or others as each of its parents allows', (t) => {
  const folder = openFolder(t);
  const inner = join(folder, 'outer', 'inner');
  mkdirSync(inner, { recursive: true });
  const { uid, gid } = statSync(folder);
  const [owner, member, other] = [
    { uid, gid },
    { uid: uid + 1, gid },
    { uid: uid + 1, gid: gid + 1 },
  ];
  const reached = (mode: number) => {
    chmodSync(join(folder, 'outer'), mode);
    return [owner, member, other].map((user) => findClosedDirectory(user, inner) === undefined);
  };
  assert.deepEqual(reached(0o755), [true, true, true]);
  assert.deepEqual(reached(0o711), [true, true, true]);
  assert.deepEqual(reached(0o750), [true, true, false]);
  assert.deepEqual(reached(0o700), [true, false, false]);
  if (isRoot()) assert.deepEqual(reached(0o077), [false, true, true]);
  chmodSync(join(folder, 'outer'), 0o700);
  assert.equal(findClosedDirectory(other, inner), join(folder, 'outer'));
  assert.equal(canExecute(other, inner), true);
});

test('binaries whose links are missing are used from a complete copy', (t) => {
  const folder = openFolder(t);
  const installed = installedBinaries();
  assert.deepEqual(usableBinaries(installed, undefined, folder), installed);
  const bare = { ...installed, directory: join(folder, 'native') };
  for (const part of ['bin', 'share']) {
    mkdirSync(join(bare.directory), { recursive: true });
    symlinkSync(join(installed.directory, part), join(bare.directory, part));
  }
  mkdirSync(join(bare.directory, 'lib'));
  writeFileSync(join(bare.directory, 'lib', 'libpq.so.5.18'), 'library');
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
  writeFileSync(join(bare.directory, 'pg-symlinks.json'), JSON.stringify(links));
  const copy = usableBinaries(bare, undefined, folder);
  assert.equal(copy.directory, join(folder, `postgresql-${installed.version}`));
  assert.equal(readlinkSync(join(copy.directory, 'lib', 'libpq.so.5')), 'libpq.so.5.18');
  assert.deepEqual(usableBinaries(bare, undefined, folder), copy);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('unfinished')),
    [],
  );
});

test('in a directory that only root can enter, data and binaries move to a state directory', root, async (t) => {
  const folder = openFolder(t);
  const stateRoot = join(folder, 'state');
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const dataDir = join(closed, 'data');
  const options = { dataDir, log: keepLog(), stateRoot };
  let database = await startEmbedded(options);
  t.after(() => database.stop());
  const pointer = join(dataDir, 'postgres');
  assert.equal(readlinkSync(pointer), database.stateDirectory);
  assert.equal(database.stateDirectory.startsWith(`${stateRoot}/`), true);
  assert.deepEqual(database.notices, [
    `The database is in ${database.stateDirectory}, where ${pointer} leads: PostgreSQL does not run as root, and ${closed} is closed to other users.`,
  ]);
  assert.equal(statSync(closed).mode & 0o777, 0o700);
  const user = unprivilegedUser();
  assert.equal(statSync(join(database.stateDirectory, 'data')).uid, user.uid);
  await query(database.connection, 'create table kept as select 1 as one');
  await database.stop();

  await t.test('which later starts find again', async () => {
    database = await startEmbedded(options);
    assert.deepEqual(await query(database.connection, 'select one from kept'), [[1]]);
    await database.stop();
  });

  await t.test('which is not found by a new DATA_DIR of the same name', async () => {
    const { stateDirectory } = database;
    rmSync(dataDir, { recursive: true });
    database = await startEmbedded(options);
    assert.notEqual(database.stateDirectory, stateDirectory);
    assert.deepEqual(await query(database.connection, `select to_regclass('kept')`), [[null]]);
    await database.stop();
  });

  await t.test('and whose loss is told instead of beginning anew', async () => {
    rmSync(database.stateDirectory, { recursive: true });
    await assert.rejects(startEmbedded(options), /leads to a directory that is gone/);
    assert.equal(lstatSync(pointer).isSymbolicLink(), true);
  });
});

test('binaries that only root can reach are copied, once, and run from there', root, (t) => {
  const folder = openFolder(t);
  const stateRoot = join(folder, 'state');
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const installed = installedBinaries();
  symlinkSync(installed.directory, join(closed, 'native'));
  const copy = usableBinaries({ ...installed, directory: join(closed, 'native') }, unprivilegedUser(), stateRoot);
  assert.equal(copy.directory, join(stateRoot, `postgresql-${installed.version}`));
  assert.equal(findClosedDirectory(nobody, join(copy.directory, 'bin')), undefined);
  const run = spawnSync(join(copy.directory, 'bin', 'initdb'), ['--version'], {
    ...nobody,
    cwd: '/',
    encoding: 'utf8',
  });
  assert.match(run.stdout, new RegExp(`PostgreSQL\\) ${installed.major}\\.`));
});

test('an ordinary user runs it as itself, and root keeps that owner', root, async (t) => {
  const dataDir = openFolder(t);
  const program = findClosedDirectory(nobody, process.execPath) ?? findClosedDirectory(nobody, import.meta.dirname);
  if (program !== undefined) return t.skip(`${program} is closed to ordinary users`);
  chownSync(dataDir, nobody.uid, nobody.gid);
  const ordinary = await startProcess(t, dataDir, nobody);
  const { connection, stateDirectory } = ordinary.database;
  assert.equal(stateDirectory, join(dataDir, 'postgres'));
  assert.equal(statSync(join(stateDirectory, 'data')).uid, nobody.uid);
  assert.equal(statSync(stateDirectory).mode & 0o777, 0o700);
  await query(connection, 'create table kept as select 1 as one');
  await ordinary.stop();

  const byRoot = await startProcess(t, dataDir);
  assert.deepEqual(await query(connection, 'select one from kept'), [[1]]);
  assert.equal(statSync(join(stateDirectory, 'data', 'postmaster.pid')).uid, nobody.uid);
  await byRoot.stop();

  const again = await startProcess(t, dataDir, nobody);
  assert.deepEqual(await query(connection, 'select one from kept'), [[1]]);
  await again.stop();
});

test('an ordinary user is told that data of another user are not its own', root, async (t) => {
  const dataDir = openFolder(t);
  mkdirSync(join(dataDir, 'postgres', 'data'), { recursive: true });
  chownSync(join(dataDir, 'postgres', 'data'), 12345, 12345);
  await assert.rejects(
    startProcess(t, dataDir, nobody),
    /belong to user 12345, and PostgreSQL would run as user 65534/,
  );
});
