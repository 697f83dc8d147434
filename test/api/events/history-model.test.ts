// Random changes and restores of records: the history of each reader against a model in plain JavaScript.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { use, useIssuer, useServer, useUsers } from '../../support/resources.ts';
import { draws } from '../../support/runs.ts';
import type { Answer, Call } from '../../support/server.ts';
import { LOCAL_PROVIDER } from '../../support/users.ts';

const SCHEMA = {
  entities: {
    cars: {
      fields: {
        color: { type: 'string' },
        price: { type: 'decimal', precision: 12, scale: 2 },
        extras: { type: 'json' },
        builtAt: { type: 'datetime' },
        electric: { type: 'boolean' },
        owner: { type: 'integer' },
      },
      rowRules: [{ column: 'owner', claim: 'owner' }],
      settings: { changes: 'history', historyForUsers: true },
    },
  },
};

type Car = Readonly<Record<string, unknown>>;

/** A change of the record; `restore`: as it was after an earlier change, counted from the first. */
type Step =
  | { readonly kind: 'change'; readonly values: Car }
  | { readonly kind: 'delete' }
  | { readonly kind: 'restore'; readonly to: number };

const VALUES = fc.record(
  {
    color: fc.constantFrom('red', 'blue', '', null),
    price: fc.constantFrom(0, 12.5, 1234567890.99, null),
    extras: fc.constantFrom({ $add: [1] }, { a: { b: [1, null] } }, [], 'text', null),
    builtAt: fc.constantFrom('2026-01-31T12:00:00Z', '1999-12-31T23:59:59.999Z', null),
    electric: fc.constantFrom(true, false, null),
    owner: fc.constantFrom(1, 2),
  },
  { requiredKeys: [] },
);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: VALUES.map((values) => ({ kind: 'change', values }) as const), weight: 5 },
  { arbitrary: fc.constant({ kind: 'delete' } as const), weight: 1 },
  { arbitrary: fc.nat({ max: 20 }).map((to) => ({ kind: 'restore', to }) as const), weight: 3 },
);

const issuer = useIssuer();
const server = useServer(LOCAL_PROVIDER);
const shop = use(() => server.workspace('acme/cars', SCHEMA));
const tokenOf = useUsers(shop, issuer);

const ok = (answer: Answer): Answer['json'] => {
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};

/** A change from one state of the record to another; null: there is none. */
type Change = readonly [before: Car | null, after: Car | null];

const NO_VALUES = { color: null, price: null, extras: null, builtAt: null, electric: null };

/** Makes the changes, and returns those that the model expects, the first one first. */
async function walk(steps: readonly Step[]): Promise<{ readonly path: string; readonly changes: readonly Change[] }> {
  let now: Car | null = ok(await shop.call('cars', { method: 'POST', body: { ...NO_VALUES, owner: 1 } })).data;
  const path = `cars/${now?.id}`;
  const changes: Change[] = [[null, now]];
  for (const step of steps) {
    const before: Car | null = now;
    if (step.kind === 'delete') {
      if (before === null) continue;
      assert.equal((await shop.call(path, { method: 'DELETE' })).status, 204);
      now = null;
    } else if (step.kind === 'change') {
      if (before === null) continue;
      // An object that looks like an operator is one unless it is marked.
      const { extras } = step.values;
      const body =
        typeof extras === 'object' && extras !== null && '$add' in extras
          ? { ...step.values, extras: { $value: extras } }
          : step.values;
      now = { ...before, ...step.values };
      assert.deepEqual(ok(await shop.call(path, { method: 'PATCH', body })).data, now);
    } else {
      const at = step.to % changes.length;
      const [was, became] = changes[at] as Change;
      now = became ?? was;
      const { data } = ok(await shop.call(`${path}/_history?size=200`));
      const event = data[data.length - 1 - at].id;
      const answer = await shop.call(`${path}/_restore`, { method: 'POST', body: { event } });
      assert.deepEqual([answer.status, answer.json.data], [before === null ? 201 : 200, now]);
    }
    if (JSON.stringify(before) !== JSON.stringify(now)) changes.push([before, now]);
  }
  return { path, changes };
}

type Event = readonly [type: string, changed: readonly string[] | undefined, record: unknown, previous: unknown];

/** Returns the event that a reader has of a change, or none. */
function toEvents([before, after]: Change, sees: (car: Car) => boolean): readonly Event[] {
  const [old, next] = [before, after].map((car) => (car !== null && sees(car) ? car : null));
  if (old && next) {
    const changed = Object.keys(old).filter((name) => JSON.stringify(old[name]) !== JSON.stringify(next[name]));
    return [['updated', changed, next, Object.fromEntries(changed.map((name) => [name, old[name]]))]];
  }
  if (next) return [['created', undefined, next, undefined]];
  return old ? [['removed', undefined, undefined, old]] : [];
}

test('each reader has the changes that it sees, the record as it was, and restores it', {
  timeout: 300_000,
}, async () => {
  const users = [1, 2].map((owner) => ({ owner, call: { credential: tokenOf({ owner }) } satisfies Call }));
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 10 }), async (steps) => {
      const { path, changes } = await walk(steps);
      const now = changes.at(-1)?.[1] ?? null;
      for (const { owner, call } of [{ owner: undefined, call: {} }, ...users]) {
        const sees = (car: Car): boolean => owner === undefined || car.owner === owner;
        const answer = await shop.call(`${path}/_history?size=200`, call);
        if (owner !== undefined && (now === null || !sees(now))) {
          assert.equal(answer.status, 404, answer.text);
          continue;
        }
        const { data } = ok(answer);
        const events = data.map(({ type, changed, record, previous }: Record<string, unknown>) => [
          type,
          changed,
          record,
          previous,
        ]);
        const expected = changes.flatMap((change) => toEvents(change, sees)).reverse();
        assert.deepEqual(events, expected);
        for (const [index, [, , record, previous]] of expected.entries()) {
          const entry = ok(await shop.call(`${path}/_history/${data[index].id}`, call));
          assert.deepEqual(entry, { data: record ?? previous });
        }
        const pages: unknown[] = [];
        for (let after: string | null = ''; after !== null; ) {
          const page = ok(await shop.call(`${path}/_history?size=2${after && `&after=${after}`}`, call));
          pages.push(...page.data);
          after = page.meta.nextCursor;
        }
        assert.deepEqual(pages, data);
      }
    }),
    draws(25),
  );
});
