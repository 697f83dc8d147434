// Proof that both servers answer the same question alike, before any of it is timed. The limit server's answer is the
// yardstick: what it says the other must say too, apart from the notation of times.

import { isDeepStrictEqual } from 'node:util';
import type { PreparedRequest, Workload } from './workloads.ts';

export type Side = {
  readonly name: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
};

type Answer = { readonly data?: unknown; readonly meta?: Readonly<Record<string, unknown>> };

/** Sends one request of a workload to both and throws when the answers differ. */
export async function assertSameAnswer(
  workload: Workload,
  [limit, ours]: readonly [Side, Side],
  [toLimit, toOurs]: readonly [PreparedRequest, PreparedRequest],
): Promise<void> {
  const expected = await ask(limit, toLimit);
  const actual = await ask(ours, toOurs);
  const created = workload.method === 'POST';
  if (!isDeepStrictEqual(normalize(expected.data, created), normalize(actual.data, created))) {
    throw new Error(differing(workload, expected.data, actual.data));
  }
  for (const [name, value] of Object.entries(expected.meta ?? {})) {
    if (actual.meta?.[name] !== value) throw new Error(differing(workload, expected.meta, actual.meta));
  }
}

async function ask(side: Side, request: PreparedRequest): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${side.port}${request.path}`, {
    method: request.method,
    headers: { ...side.headers, ...(request.body === null ? {} : { 'content-type': 'application/json' }) },
    body: request.body,
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${side.name}: ${request.method} ${request.path} answered ${response.status}: ${text}`);
  }
  return JSON.parse(text) as Answer;
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

// What two creates cannot have in common; orderId is the id of an order of the same batch.
const CREATED: ReadonlySet<string> = new Set(['id', 'createdAt', 'orderId']);

/** Times as instants; without what two creates cannot have in common. */
function normalize(value: unknown, created: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => normalize(item, created));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([name]) => !(created && CREATED.has(name)));
    return Object.fromEntries(entries.map(([name, item]) => [name, normalize(item, created)]));
  }
  return typeof value === 'string' && TIME.test(value) ? Date.parse(value) : value;
}

function differing(workload: Workload, expected: unknown, actual: unknown): string {
  const show = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 1500);
  return `${workload.name}: the answers differ\nlimit: ${show(expected)}\nours:  ${show(actual)}`;
}
