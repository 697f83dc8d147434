// The version of a record in SQL: the number of its transaction with the epoch of its workspace and the number of its moves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Scan } from '../../../src/plan/scan.ts';
import { ident } from '../../../src/sql/fragment.ts';
import { renderRowMark, renderVersion } from '../../../src/sql/table.ts';

for (const { epoch, moves, row, kept } of [
  { epoch: '', moves: 0, row: '"r".xmin::text', kept: '"r"."v"::text' },
  { epoch: 'e1', moves: 0, row: `"r".xmin::text || '-e1'`, kept: `"r"."v"::text || '-e1'` },
  { epoch: 'e1', moves: 2, row: `"r".xmin::text || '-e1-2'`, kept: `"r"."v"::text || '-e1-2'` },
  { epoch: '', moves: 2, row: `"r".xmin::text || '--2'`, kept: `"r"."v"::text || '--2'` },
  {
    epoch: 'e1',
    moves: 3,
    row: `("r".xmin::text || ':' || "r".tableoid::text)::text || '-e1-3'`,
    kept: `"r"."v"::text || '-e1-3'`,
  },
]) {
  test(`epoch ${epoch || 'none'}, ${moves} moves begun or ended`, () => {
    const scan = { entity: { epoch, moves } } as unknown as Scan;
    assert.equal(renderVersion(scan, ident('r')).text, row);
    assert.equal(renderVersion(scan, ident('r'), ident('v')).text, kept);
    assert.ok(row.startsWith(renderRowMark(scan, ident('r')).text));
  });
}
