// `npm run chaos -- --minutes 10 [--seed N]`: faults and clients for so long, over a PostgreSQL of the run's own and over
// the embedded one. The seed repeats the sequence of faults. Ends with 1 when something was found that must not be.
import { Command, InvalidArgumentError } from 'commander';
import { chaos } from './chaos.ts';
import type { GroundKind } from './ground.ts';

const command = new Command('npm run chaos --')
  .description(
    'Brings one fault after the other over a server at work and checks that nothing is lost, doubled or shown.',
  )
  .option('--minutes <n>', 'how long, for both kinds of database together', positive, 10)
  .option('--seed <n>', 'which sequence of faults; default: another each time', Number)
  .option('--only <kind>', 'own: a PostgreSQL behind a wire; embedded: the embedded one');

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 24 * 60)) throw new InvalidArgumentError('It must be a number of minutes above 0.');
  return value;
}

interface Options {
  readonly minutes: number;
  readonly seed?: number;
  readonly only?: string;
}

const { minutes, seed = Math.floor(Math.random() * 1_000_000), only } = command.parse().opts<Options>();
const kinds = (['own', 'embedded'] as const).filter((kind) => only === undefined || only === kind);
if (kinds.length === 0) command.error('error: --only is own or embedded');
const say = (line: string): void => void process.stdout.write(`${line}\n`);
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1));

let found = 0;
// Three quarters for the one that can meet every fault.
const shareOf = (kind: GroundKind): number => (kinds.length === 1 ? 1 : kind === 'own' ? 0.75 : 0.25);
for (const kind of kinds) {
  say(`seed ${seed}, ${kind === 'own' ? 'PostgreSQL of its own behind a wire' : 'the embedded PostgreSQL'}`);
  const report = await chaos({ kind, seed, seconds: minutes * 60 * shareOf(kind), wellWithin: 5000, say });
  const list = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  say(`${report.faults} faults, well within ${report.longest.toFixed(0)} ms after each`);
  say(`done: ${list(report.done)}`);
  say(`answers: ${list(report.answers)}`);
  say(report.violations.length === 0 ? 'nothing is wrong' : `${report.violations.length} WRONG:`);
  for (const line of report.violations) say(`  ${line}`);
  found += report.violations.length;
}
process.exitCode = found === 0 ? 0 : 1;
