// A Citus cluster of a test's own, whose nodes may be killed, paused and replaced: that of TEST_CITUS_WORKERS is others', too.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isCluster } from './citus.ts';
import { distribution, makePostgres, type OwnPostgres } from './postgres.ts';
import { openSwitch, type Switch } from './tcp-proxy.ts';
import { until } from './wait-until.ts';

const hasCitus = distribution !== undefined && existsSync(join(distribution, '../lib/citus.so'));

/** Why tests of such a cluster are skipped; false where they run. */
export const skipOwnCluster =
  isCluster && hasCitus ? false : 'needs TEST_CITUS_WORKERS, and the Citus of the distribution';

const SETTINGS = `
shared_preload_libraries = 'citus'
wal_level = logical
max_connections = 200
max_prepared_transactions = 200
max_worker_processes = 40
wal_retrieve_retry_interval = 250ms
fsync = off
citus.node_conninfo = 'sslmode=prefer'
`;

export interface OwnNode {
  /** Replaced by the standby that takes over. */
  postgres: OwnPostgres;
  /** The address that the others know the node by. */
  readonly address: Switch;
}

export interface OwnCluster {
  readonly coordinator: OwnPostgres;
  readonly workers: readonly OwnNode[];
  /** The worker that holds the table, `ws1_shop.things`. */
  holderOf(table: string): Promise<OwnNode>;
  remove(): Promise<void>;
}

/** Coordinator and two workers, which run and are joined. Workers are known by addresses that can lead elsewhere. */
export async function makeCluster(): Promise<OwnCluster> {
  const nodes: OwnPostgres[] = [];
  for (let count = 0; count < 3; count++) nodes.push(await makePostgres({ settings: SETTINGS }));
  for (const node of nodes) {
    await node.start();
    await node.query('create extension citus');
  }
  const [coordinator, ...rest] = nodes as [OwnPostgres, ...OwnPostgres[]];
  const workers = await Promise.all(
    rest.map(async (postgres) => ({ postgres, address: await openSwitch(postgres.port) })),
  );
  await coordinator.query('alter database postgres set citus.enable_unsafe_triggers = on');
  await coordinator.query(`select citus_set_coordinator_host('127.0.0.1', $1)`, [coordinator.port]);
  for (const { address } of workers) await coordinator.query(`select citus_add_node('127.0.0.1', $1)`, [address.port]);
  return {
    coordinator,
    workers,
    async holderOf(table) {
      const [row] = await coordinator.query(
        'select nodeport as port from citus_shards where table_name = $1::regclass',
        [table],
      );
      const found = workers.find(({ address }) => address.port === row?.port);
      if (found === undefined) throw new Error(`${table} lies on no worker`);
      return found;
    },
    async remove() {
      for (const { address } of workers) await address.close();
      for (const postgres of [coordinator, ...workers.map((one) => one.postgres)]) await postgres.remove();
    },
  };
}

/** A standby of one of its nodes; it does not run yet. */
export const makeStandby = (of: OwnPostgres): Promise<OwnPostgres> =>
  makePostgres({ standbyOf: of, settings: SETTINGS });

/** The first process of a server, and those that it has begun. */
function processesOf({ pid }: Pick<OwnPostgres, 'pid'>): readonly number[] {
  if (pid === undefined) return [];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return [pid, ...children.filter((text) => text !== '').map(Number)];
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch {
      // It has ended by itself.
    }
}

/** Ends it with all its processes as the loss of power does, and waits until it is gone. */
export async function killPostgres(postgres: OwnPostgres): Promise<void> {
  signal(processesOf(postgres), 'SIGKILL');
  await until('it is gone', () => postgres.pid === undefined);
}

/** Makes it hang: it takes connections and answers nothing. Gives the function that lets it go on. */
export function pausePostgres(postgres: OwnPostgres): () => void {
  const paused = processesOf(postgres);
  signal(paused, 'SIGSTOP');
  return () => signal(paused, 'SIGCONT');
}
