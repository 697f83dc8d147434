// The settings of a connection are ours, whatever DATABASE_URL, the database and its role ask for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../support/database.ts';
import { startTestServer } from '../../support/server.ts';

test('options of the URL are kept beside ours, and datetimes stay those that were sent', async () => {
  const database = await createTestDatabase();
  const [{ name }] = (await database.query('select current_database() as name')) as [{ name: string }];
  for (const setting of ["timezone = 'Europe/Berlin'", "datestyle = 'German'", 'extra_float_digits = -3']) {
    await database.query(`alter database "${name}" set ${setting}`);
  }
  const joint = database.url.includes('?') ? '&' : '?';
  const asked = { ...database, url: `${database.url}${joint}options=-c%20geqo%3Doff%20-c%20timezone%3DAsia/Tokyo` };
  const server = await startTestServer({}, asked);
  try {
    const times = await server.workspace('times/one', {
      entities: { events: { timestamps: true, fields: { at: { type: 'datetime' }, size: { type: 'float' } } } },
    });
    const [made] = await times.create('events', [{ at: '2026-01-31T12:00:00.500Z', size: 0.1234567890123456 }]);
    assert.equal(made.at, '2026-01-31T12:00:00.500Z');
    assert.equal(made.size, 0.1234567890123456);
    assert.match(made.createdAt, /Z$/);
    assert.ok(Math.abs(Date.parse(made.createdAt) - Date.now()) < 600_000, made.createdAt);
    const listed = await times.call('events?sort=at');
    assert.equal(listed.json.data[0].at, '2026-01-31T12:00:00.500Z');
    const settings = await database.query(
      `select distinct application_name from pg_stat_activity where datname = current_database() and application_name = 'workspace-data-api'`,
    );
    assert.equal(settings.length, 1);
  } finally {
    await server.stop();
    await database.drop();
  }
});
