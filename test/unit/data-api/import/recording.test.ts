// A short body can be read a second time once it is there; one that is late is read once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Recording, recordBody } from '../../../../src/data-api/import/recording.ts';

async function textOf({ read }: Recording): Promise<string> {
  let text = '';
  for await (const chunk of read()) text += chunk;
  return text;
}

function record(source: AsyncIterable<Buffer>): Recording {
  const recording = recordBody(source, '10');
  assert.ok(recording);
  return recording;
}

async function* parts(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

test('a body that is there is read as often as one likes, from its middle on, too', async () => {
  const recording = record(parts('a', 'b', 'c'));
  const reader = recording.read();
  assert.equal(String((await reader.next()).value), 'a');
  assert.equal(await recording.isWhole(), true);
  assert.equal(String((await reader.next()).value), 'b');
  assert.deepEqual([await textOf(recording), await textOf(recording)], ['abc', 'abc']);
});

test('a body that is late is read as it arrives', async () => {
  let arrive: (() => void) | undefined;
  const arrival = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  async function* late(): AsyncGenerator<Buffer> {
    yield Buffer.from('a');
    await arrival;
    yield Buffer.from('b');
  }
  const recording = record(late());
  assert.equal(await recording.isWhole(), false);
  arrive?.();
  assert.equal(await textOf(recording), 'ab');
});

test('a body that breaks off is not whole, and its reader gets the reason after what has arrived', async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('a');
    throw new Error('cut off');
  }
  const recording = record(broken());
  assert.equal(await recording.isWhole(), false);
  const reader = recording.read();
  assert.equal(String((await reader.next()).value), 'a');
  await assert.rejects(reader.next(), /cut off/);
});

test('a source that is not read to its end is ended', async () => {
  let isEnded = false;
  async function* source(): AsyncGenerator<Buffer> {
    try {
      yield Buffer.from('a');
      yield Buffer.from('b');
    } finally {
      isEnded = true;
    }
  }
  for await (const _ of record(source()).read()) break;
  assert.equal(isEnded, true);
});

test('only a body of a declared length that is short is recorded', () => {
  assert.equal(recordBody(parts(), undefined), undefined);
  assert.equal(recordBody(parts(), String(8_388_609)), undefined);
  assert.ok(recordBody(parts(), '8388608'));
});
