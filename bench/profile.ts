// `node bench/profile.ts <file.cpuprofile>...`: where a processor profile spent its time, without a browser: self time by
// function and by file. Idle time is left out, so that the shares are of the time at work.

import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

type ProfileNode = {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
};
type Profile = {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { top: { type: 'string', default: '40' } },
});

for (const file of positionals) {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const self = selfTimes(profile);
  const functions = new Map<string, number>();
  const files = new Map<string, number>();
  let total = 0;
  for (const { id, callFrame } of profile.nodes) {
    const time = self.get(id) ?? 0;
    if (callFrame.functionName === '(idle)' || callFrame.functionName === '(program)') continue;
    total += time;
    const place = placeOf(callFrame.url);
    add(functions, `${callFrame.functionName || '(anonymous)'}  ${place}:${callFrame.lineNumber + 1}`, time);
    add(files, place, time);
  }
  console.log(`${file}: ${(total / 1e6).toFixed(2)} s at work`);
  print('by function', functions, total, Number(values.top));
  print('by file', files, total, Number(values.top) / 2);
}

/** Microseconds by node. */
function selfTimes({ samples, timeDeltas }: Profile): Map<number, number> {
  const times = new Map<number, number>();
  samples.forEach((id, index) => {
    add(times, id, timeDeltas[index] ?? 0);
  });
  return times;
}

function add<Key>(sums: Map<Key, number>, key: Key, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value);
}

function placeOf(url: string): string {
  if (!url.startsWith('file:')) return url || '(native)';
  return relative(process.cwd(), fileURLToPath(url)).replace(`node_modules${sep}`, '');
}

function print(title: string, times: Map<string, number>, total: number, top: number): void {
  console.log(`\n${title}`);
  const sorted = [...times].sort(([, a], [, b]) => b - a).slice(0, top);
  for (const [name, time] of sorted) console.log(`${((100 * time) / total).toFixed(1).padStart(6)} %  ${name}`);
}
