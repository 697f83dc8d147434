// The rounds and the table of `npm run bench:access`: variants of a question take turns within seconds, and the medians
// of one are compared with those of another.

import Table from 'cli-table3';
import type { LoadResult } from './load.ts';
import { readProcessorTime } from './servers.ts';

/** One round of load; the number of the round chooses its requests. `perSecondBeside`: of what is sent beside it. */
export type Variant = (round: number) => Promise<LoadResult & { readonly perSecondBeside?: number }>;

/** Medians. `processor`: microseconds of the server's processor time per answer, with what was sent beside it. */
export type Figures = Pick<LoadResult, 'perSecond' | 'p50' | 'p99' | 'failed'> & {
  readonly processor: number;
  readonly perSecondBeside: number;
};

export type Comparison = {
  /** What is asked, then the two variants: `read by id: one, other`. */
  readonly title: string;
  readonly figure: string;
  readonly of: 'perSecond' | 'p50';
  readonly before: Figures;
  readonly after: Figures;
  readonly atLeast?: number;
  readonly below?: number;
};

/** One warm-up and then the rounds, every variant once in each; they take turns in going first. */
export async function compareVariants<const V extends readonly Variant[]>(
  variants: V,
  pid: number,
  rounds: number,
): Promise<{ [K in keyof V]: Figures }> {
  const results = variants.map((): Figures[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const which = (turn + round) % variants.length;
      const before = readProcessorTime(pid) ?? Number.NaN;
      const result = await (variants[which] as Variant)(round);
      const processor = ((readProcessorTime(pid) ?? Number.NaN) - before) / result.requests;
      if (round > 0) results[which]?.push({ perSecondBeside: 0, ...result, processor });
    }
  }
  return results.map(mediansOf) as { [K in keyof V]: Figures };
}

function mediansOf(results: readonly Figures[]): Figures {
  const of = (figure: keyof Figures) => median(results.map((result) => result[figure]));
  return {
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    processor: of('processor'),
    perSecondBeside: of('perSecondBeside'),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (low + high) / 2;
}

const HEADINGS = ['Compared', 'figure', 'first', 'second', 'ratio', 'goal', 'beside req/s', 'CPU µs', 'errors'];

/** One line for each comparison; a missed goal carries an exclamation mark. */
export function renderTable(comparisons: readonly Comparison[], markdown: boolean): string {
  const lines = comparisons.map(cells);
  if (markdown) {
    const line = (parts: readonly string[]) => `| ${parts.join(' | ')} |`;
    return [line(HEADINGS), line(HEADINGS.map((_, i) => (i < 2 ? '---' : '---:'))), ...lines.map(line)].join('\n');
  }
  const table = new Table({ head: HEADINGS, style: { head: [], border: [] } });
  table.push(...lines.map((line) => [...line]));
  return table.toString();
}

function cells({ title, figure, of, before, after, atLeast, below }: Comparison): readonly string[] {
  const ratio = after[of] / before[of];
  const missed = (atLeast !== undefined && ratio < atLeast) || (below !== undefined && ratio >= below);
  const goal = atLeast !== undefined ? `≥ ${atLeast}` : below !== undefined ? `< ${below}` : '-';
  const show = (value: number) => (of === 'p50' ? value.toFixed(2) : Math.round(value).toLocaleString('en'));
  return [
    title,
    figure,
    show(before[of]),
    show(after[of]),
    `${ratio.toFixed(2)}${missed ? ' !' : ''}`,
    goal,
    after.perSecondBeside === 0 ? '-' : Math.round(after.perSecondBeside).toLocaleString('en'),
    `${before.processor.toFixed(0)}, ${after.processor.toFixed(0)}`,
    String(before.failed + after.failed),
  ];
}
