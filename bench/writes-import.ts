// Imports of a file against COPY of the same rows, as CSV, into the same table with the same indexes, constraints and
// triggers.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { DataSet } from './dataset.ts';
import { dataPrefix, type RunningServer } from './servers.ts';
import { type Row, rowOfTimes, takeTurns } from './turns.ts';

export type ImportOptions = {
  readonly ours: RunningServer;
  readonly key: string;
  readonly client: Client;
  readonly schema: string;
  readonly data: DataSet;
  readonly progress: (line: string) => void;
  /** Puts the tables back as they were loaded. */
  readonly restore: () => Promise<void>;
};

/** Share of COPY's speed. */
const GOAL = 0.5;
const RECORDS = 100_000;
const TURNS = 5;

export async function measureImports(options: ImportOptions): Promise<readonly Row[]> {
  const { ours, key, client, schema, data, progress, restore } = options;
  const count = Math.max(100, Math.round(RECORDS * data.scale));
  const orders = Array.from({ length: count }, (_, index) => ({
    customerId: ((index * 7919) % data.customers) + 1,
    status: ['new', 'paid', 'shipped', 'closed'][index % 4],
    total: (index % 100_000) / 100,
    note: index % 3 === 0 ? null : `note for imported order ${index}`,
  }));
  const names = ['customerId', 'status', 'total', 'note'] as const;
  const csv = [names.join(), ...orders.map((order) => names.map((name) => order[name] ?? '').join())].join('\n');
  const files = [
    { format: 'CSV', type: 'text/csv', text: `${csv}\n` },
    {
      format: 'NDJSON',
      type: 'application/x-ndjson',
      text: orders.map((each) => `${JSON.stringify(each)}\n`).join(''),
    },
  ];
  const copy = `copy "${schema}".orders ("customerId", status, total, note) from stdin (format csv, header)`;
  const rows: Row[] = [];
  for (const { format, type, text } of files) {
    const work = `_import, ${count.toLocaleString('en')} orders of ${format}, against COPY of the same as CSV`;
    progress(`${work} ...`);
    const sides = {
      ours: () => importFile(ours, key, type, text, count),
      byHand: () => pipeline(Readable.from([`${csv}\n`]), client.query(copyFrom(copy))),
    };
    rows.push(rowOfTimes(work, await takeTurns(sides, TURNS, 1, restore), GOAL));
  }
  await restore();
  return rows;
}

async function importFile(
  server: RunningServer,
  key: string,
  type: string,
  text: string,
  count: number,
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.port}${dataPrefix}/orders/_import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body: text,
  });
  const answer = await response.text();
  if (!response.ok || JSON.parse(answer).data.inserted !== count)
    throw new Error(`_import answered ${response.status}: ${answer.slice(0, 500)}`);
}
