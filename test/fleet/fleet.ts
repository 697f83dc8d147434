// A fleet of workspaces of one shared schema, taken through three versions while clients read and write and the server is
// killed in each rollout. At the end every workspace has the version, or is named as failed with its records.
import assert from 'node:assert/strict';
import { clientOf } from '../support/server.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { makeFleet, type TestFleet, waitForValue } from '../support/shared-schema.ts';
import { buildVersions } from './documents.ts';
import { type Place, startTraffic, type Target, type TrafficReport } from './traffic.ts';

export interface FleetOptions {
  readonly databaseUrl: string;
  readonly workspaces: number;
  /** Entities of each version. */
  readonly entities: number;
  readonly say: (line: string) => void;
}

export interface Fleet extends TestFleet {
  readonly organization: TestFleet['organization'];
  readonly server: () => ServerProcess;
  /** Kills the server and starts it again. */
  readonly restart: () => Promise<void>;
  readonly slugs: readonly string[];
  readonly documents: ReturnType<typeof buildVersions>;
}

type Client = Pick<ReturnType<typeof clientOf>, 'call'>;

const ORGANIZATION = 'hosting';
const MAKERS = 3;
const TRAFFIC_WORKSPACES = 10;

const hasWords = (index: number): boolean => index % 10 === 3;
const hasSpam = (index: number): boolean => index % 10 === 7;
/** Left out of the first rollout, so that it is two versions behind. */
const isBehind = (index: number): boolean => index % 5 === 4;

/** Starts a server and makes a fleet without workspaces whose schema has so many versions; kills the server at the end. */
async function withFleet<T>(
  { databaseUrl, workspaces, entities }: FleetOptions,
  published: number,
  work: (fleet: Fleet, target: Target, client: Client) => Promise<T>,
): Promise<T> {
  const start = (): Promise<ServerProcess> =>
    startServerProcess({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'info', WDA_RATE_LIMIT: '0' });
  let server = await start();
  const target: Target = { url: server.url, isDown: false, kills: 0 };
  const restart = async (): Promise<void> => {
    target.isDown = true;
    target.kills++;
    await server.kill();
    server = await start();
    target.url = server.url;
    target.isDown = false;
  };
  try {
    const client: Client = { call: (...call) => clientOf(target.url).call(...call) };
    const documents = buildVersions(entities);
    const fleet = await makeFleet(client, ORGANIZATION, documents.slice(0, published));
    const slugs = Array.from({ length: workspaces }, (_, index) => `w${String(index).padStart(5, '0')}`);
    return await work({ ...fleet, server: () => server, restart, slugs, documents }, target, client);
  } finally {
    await server.kill();
  }
}

/** Gives `work` a fleet whose workspaces have the last version. */
export const withFinishedFleet = (options: FleetOptions, work: (fleet: Fleet) => Promise<void>): Promise<void> =>
  withFleet(options, 4, async (fleet) => {
    await inParallel(fleet.slugs, (slug) => fleet.follow([slug], 4));
    options.say(`${options.workspaces} workspaces of ${options.entities} entities`);
    await work(fleet);
  });

/** Runs the scenario, then `more` with the fleet as it is. */
export const runFleet = (
  options: FleetOptions,
  more: (fleet: Fleet) => Promise<void> = async () => undefined,
): Promise<void> =>
  withFleet(options, 1, async (fleet, target, client) => {
    const { workspaces, entities, say } = options;
    const places = await makeWorkspaces(fleet, client);
    say(`${workspaces} workspaces of ${entities} entities`);
    for (const version of fleet.documents.slice(1)) await fleet.publish(version);
    const traffic = startTraffic(target, ORGANIZATION, places.slice(0, TRAFFIC_WORKSPACES));
    let report: TrafficReport;
    try {
      // A longer list is no request.
      const first = workspaces > 2000 ? {} : { workspaces: fleet.slugs.filter((_, index) => !isBehind(index)) };
      await roll(fleet, { version: 2, ...first }, say);
      await roll(fleet, { version: 3 }, say);
      await roll(fleet, { version: 4 }, say);
    } finally {
      report = await traffic.stop();
    }
    await check(fleet, client, places, report);
    say(`${report.requests} requests of clients, ${report.failures.length} failed other than by a kill`);
    await more(fleet);
  });

/** Runs `work` for each, a few at a time. */
async function inParallel<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) await work(items[index] as T, index);
  };
  await Promise.all(Array.from({ length: MAKERS }, run));
}

/** Makes the workspaces with three records each; some of them have values that a later version does not allow. */
async function makeWorkspaces(fleet: Fleet, client: Client): Promise<readonly Place[]> {
  const places: Place[] = [];
  await inParallel(fleet.slugs, async (slug, index) => {
    await fleet.follow([slug], 1);
    const answer = await fleet.organization(`/workspaces/${slug}/api-keys`, 'POST', {
      name: 'owner',
      permissions: 'OWNER',
    });
    const place = { workspace: slug, key: answer.json.data.key };
    places[index] = place;
    const data = [
      { title: 'printer', priority: '1', status: 'open' },
      { title: 'paper', priority: hasWords(index) ? 'high' : '2', status: hasSpam(index) ? 'spam' : 'closed' },
    ];
    const path = `/api/v1/${ORGANIZATION}/${slug}/tickets/_bulk`;
    const stored = await client.call(path, { method: 'POST', credential: place.key, body: { data } });
    assert.equal(stored.status, 201, stored.text);
  });
  return places;
}

/** Starts a rollout, kills the server when a quarter is done and again at the half, and waits for the end. */
async function roll(fleet: Fleet, body: object, say: FleetOptions['say']): Promise<void> {
  const startedAt = performance.now();
  const id = await fleet.start({ maxFailures: '100%', concurrency: 4, ...body });
  const read = async () => (await fleet.call(`/rollouts/${id}`)).json.data;
  for (const part of [4, 2]) {
    await waitForValue(`a part of ${part} is done`, async () => {
      const { counts, state } = await read();
      const done = counts.succeeded + counts.failed;
      const all = done + counts.waiting + counts.running;
      return done * part >= all || /^(succeeded|finished)/.test(state) || undefined;
    });
    await fleet.restart();
  }
  const ended = await waitForValue(`rollout ${id} ends`, async () => {
    const rollout = await read();
    return /^(succeeded|finished)/.test(rollout.state) ? rollout : undefined;
  });
  say(`version ${ended.version} in ${Math.round(performance.now() - startedAt)} ms: ${JSON.stringify(ended.counts)}`);
}

/** Holds every workspace to the version, or to its place in the list of failures, and to its records. */
async function check(
  fleet: Fleet,
  client: Client,
  places: readonly Place[],
  { failures, written }: TrafficReport,
): Promise<void> {
  assert.deepEqual(failures, [], 'requests failed other than by a kill');
  const [{ id }] = (await fleet.call('/rollouts?size=1')).json.data;
  const failed = new Map<
    string,
    { readonly code: string; readonly entity: string; readonly count: number; readonly sampleIds: number[] }
  >();
  for (let page = 0, more = true; more; page++) {
    const { data, meta } = (await fleet.call(`/rollouts/${id}/workspaces?state=failed&size=1000&page=${page}`)).json;
    for (const { workspace, error } of data) failed.set(workspace, error);
    more = page + 1 < meta.totalPages;
  }
  for (const [index, slug] of fleet.slugs.entries()) {
    const { follows } = (await fleet.organization(`/workspaces/${slug}`)).json.data;
    const error = failed.get(slug);
    if (hasWords(index) || hasSpam(index)) {
      assert.deepEqual(
        [error?.code, error?.entity, error?.count, error?.sampleIds],
        ['DATA_CONFLICT', 'issues', 1, [2]],
        slug,
      );
      assert.equal(follows.version, hasSpam(index) ? 3 : isBehind(index) ? 1 : 2, slug);
      continue;
    }
    assert.deepEqual([error, follows.version], [undefined, 4], slug);
    const { key } = places[index]!;
    const { json } = await client.call(`/api/v1/${ORGANIZATION}/${slug}/issues?sort=id`, { credential: key });
    const values = json.data.map((issue: Record<string, unknown>) => [issue.subject, issue.priority, issue.channel]);
    assert.deepEqual(
      values,
      [
        ['printer', 1, 'mail'],
        ['paper', 2, 'mail'],
      ],
      slug,
    );
  }
  for (const [slug, count] of written) {
    const { key } = places[fleet.slugs.indexOf(slug)]!;
    const { json } = await client.call(`/api/v1/${ORGANIZATION}/${slug}/customers?size=1&count=exact`, {
      credential: key,
    });
    // One whose answer was cut off by a kill may be there, too.
    const { totalElements } = json.meta;
    assert.ok(totalElements >= count && totalElements <= count + 3, `${slug}: ${totalElements} of ${count} records`);
  }
}
