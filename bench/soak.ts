// `npm run bench -- --soak`: all workloads mixed, for minutes on end, on our server alone.

import type { Stage } from './compare.ts';
import type { DataSet } from './dataset.ts';
import { type Report, renderTable } from './measure.ts';
import { createApiKey, dataPrefix, progress, type RunningServer, readMemory, startOurs, withServer } from './setup.ts';
import { type PreparedRequest, prepareRequests, workloadsOver } from './workloads.ts';

const SOAK_MINUTES = 10;

/** Of a thousand requests. Deep pages and large expansions are what a client asks for now and then. */
const SHARES: Readonly<Record<string, number>> = {
  W1: 400,
  W2: 60,
  W3: 60,
  W3b: 100,
  W4: 80,
  W5: 100,
  W6: 4,
  W8: 1,
  W9: 100,
  W7: 95,
};

/**
 * Every workload mixed, for minutes on end, on our server alone: memory after the first minute against memory at the end, and
 * not one failed request. Resident memory rises and falls by 40 % within seconds, as garbage is collected, so a minute is
 * told by its mean and its lowest, and "after the first minute" is the second.
 */
export function soak({ url, adminKey, data, generator, options }: Stage, length: true | number): Promise<Report> {
  return withServer(startOurs(url, adminKey), async (server) => {
    const key = await createApiKey(server, adminKey);
    const minutes = length === true ? SOAK_MINUTES : length;
    return soakServer(server, key, minutes, { data, generator, connections: options.connections });
  });
}

async function soakServer(
  server: RunningServer,
  key: string,
  minutes: number,
  { data, generator, connections }: Pick<Stage, 'data' | 'generator'> & { readonly connections: number },
): Promise<Report> {
  const memory: Memory[] = [];
  let [requests, failed] = [0, 0];
  for (let minute = 0; minute < minutes; minute++) {
    const watch = watchMemory(server.pid);
    const result = await generator.apply({
      port: server.port,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      requests: mixedRequests(data, minute),
      connections,
      seconds: 60,
    });
    requests += result.requests;
    failed += result.failed;
    const used = watch.end();
    memory.push(used);
    progress(
      `minute ${minute + 1}: ${result.perSecond.toFixed(0)} req/s, p99 ${result.p99.toFixed(0)} ms, ${inWords(used)}, ${result.failed} failed`,
    );
  }
  const [first, last] = [memory[1] ?? memory[0], memory.at(-1)] as [Memory, Memory];
  const rows = [
    ['requests', requests.toLocaleString('en')],
    ['failed (goal: 0)', String(failed)],
    ['resident memory after the first minute', inWords(first)],
    ['at the end (goal: at most 1.1 of that)', `${inWords(last)} (${(last.mean / first.mean).toFixed(2)})`],
  ];
  return {
    text: renderTable([`soak of ${minutes} minutes`, ''], rows),
    lines: [{ name: 'soak', minutes, requests, failed, memory }],
  };
}

/** Resident memory over a minute, in MB. */
type Memory = { readonly lowest: number; readonly mean: number; readonly peak: number };

function inWords({ lowest, mean, peak }: Memory): string {
  return `${mean.toFixed(0)} MB on average, ${lowest.toFixed(0)} to ${peak.toFixed(0)} MB`;
}

/** Looks at a process's memory every second. */
function watchMemory(pid: number): { readonly end: () => Memory } {
  const seen: number[] = [];
  const look = (): void => void seen.push(readMemory(pid)?.now ?? Number.NaN);
  const timer = setInterval(look, 1000);
  return {
    end: () => {
      clearInterval(timer);
      look();
      return {
        lowest: Math.min(...seen),
        mean: seen.reduce((sum, value) => sum + value, 0) / seen.length,
        peak: Math.max(...seen),
      };
    },
  };
}

/** A pool in which the workloads are spread evenly by their shares; each minute asks for other ids. */
function mixedRequests(data: DataSet, minute: number): PreparedRequest[] {
  const all = workloadsOver(data).flatMap((workload) => {
    const count = SHARES[workload.name] ?? 0;
    const pool = prepareRequests(workload, dataPrefix, data, minute + 1);
    return Array.from({ length: 20 * count }, (_, index) => ({
      at: (index + 0.5) / (20 * count),
      request: pool[index % pool.length] as PreparedRequest,
    }));
  });
  return all.sort((a, b) => a.at - b.at).map(({ request }) => request);
}
