// The triggers that keep a column equal to another come one after the other, beside writers: whenever a record is inserted
// and updated, the new column has the value of the old one once the rest is filled.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addPlainColumn } from '../../../src/migrations/ddl.ts';
import type { Field } from '../../../src/model/entity.ts';
import { sql } from '../../../src/sql/fragment.ts';
import { createSync } from '../../../src/workspace-schema/sync.ts';
import { createTestDatabase } from '../../support/database.ts';

test('a record that is inserted and updated while the triggers come has its last value', async () => {
  const { query, drop } = await createTestDatabase();
  try {
    await query('create table public.notes (id bigint primary key, v text)');
    const table = { schema: 'public', name: 'notes' };
    const field = { name: 'v', column: 'v$2', type: 'integer' } as Field;
    const steps = [
      addPlainColumn(table, field),
      ...createSync(table, {
        name: 'notes$v$2$sync',
        from: 'v',
        field,
        value: (column) => sql`${column}::int4`,
        subject: 'public.notes.v$2',
        placeholder: null,
      }),
    ];
    // A record for every pair of moments: inserted in the one, updated in the other.
    for (let step = 0; step <= steps.length; step++) {
      await query("insert into public.notes select $1 * 100 + at, '1' from generate_series($1::int, $2::int) at", [
        step,
        steps.length,
      ]);
      await query("update public.notes set v = '2' where id % 100 = $1", [step]);
      const next = steps[step];
      if (next !== undefined) await query(next.text);
    }
    await query('update public.notes set "v$2" = v::int4 where "v$2" is null');
    assert.deepEqual(await query('select id from public.notes where "v$2" is distinct from v::int4'), []);
  } finally {
    await drop();
  }
});
