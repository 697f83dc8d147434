// A program of the test of large files: imports 64 MB, exports them, and says how much memory that took.
import { createHash } from 'node:crypto';
import { createClient } from '../../client/src/index.ts';
import type { Shop } from './shop.ts';

const RECORDS = 65_536;
const shop = createClient<Shop>({
  url: process.env.WDA_URL ?? '',
  workspace: 'demo/shop',
  credential: process.env.WDA_KEY ?? '',
});
const orders = shop.entity('orders');
const note = 'x'.repeat(1000);

// What is dropped is not in the way of what is kept: a busy machine collects late.
const COLLECT = 8e6;
let collectedAt = 0;
function collect(at: number): void {
  if (Math.abs(at - collectedAt) < COLLECT) return;
  collectedAt = at;
  globalThis.gc?.();
}

const sentHash = createHash('sha256');
let sent = 0;
function* lines(): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  for (let at = 0; at < RECORDS; at += 64) {
    const rows = Array.from({ length: 64 }, (_, index) => `1,${note}${at + index}\n`).join('');
    const chunk = encoder.encode(at === 0 ? `customerId,note\n${rows}` : rows);
    sent += chunk.byteLength;
    sentHash.update(chunk);
    collect(sent);
    yield chunk;
  }
}

await orders.list({ size: 1 });
const before = process.memoryUsage().rss;
const { inserted } = await orders.import(ReadableStream.from(lines()), { format: 'csv' });

const receivedHash = createHash('sha256');
let received = 0;
for await (const chunk of await orders.export({ fields: ['customerId', 'note'], filter: { id: { gt: 6 } } })) {
  received += chunk.byteLength;
  receivedHash.update(chunk);
  collect(received);
}
const grown = process.resourceUsage().maxRSS * 1024 - before;
const hashes = { sentHash: sentHash.digest('hex'), receivedHash: receivedHash.digest('hex') };
console.log(JSON.stringify({ sent, received, inserted, grown, ...hashes }));
