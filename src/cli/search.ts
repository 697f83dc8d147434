// `wda search`: the records that match words best, as a table or as JSON.
import type { Answer } from './admin-client.ts';
import { chosenWorkspace, connect, entityPath, type GlobalOptions } from './connection.ts';
import { usageFailure } from './failure.ts';
import { printResult } from './io.ts';
import { formatCount, renderTable } from './table.ts';

export interface SearchOptions extends GlobalOptions {
  readonly filter?: readonly string[];
  readonly sort?: readonly string[];
  readonly fields?: string;
  readonly first?: string;
}

type Found = Readonly<Record<string, unknown>>;

const FIRST = 20;
// What the server answers at once, unless it is set to less.
const MOST = 1000;
// A table is to be looked at; --json has everything.
const SHOWN_CHARACTERS = 60;

/** Prints the best matches. `words` as the data API takes them: phrases in quotes, `-word` to exclude. */
export async function search(entity: string, words: readonly string[], options: SearchOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const first = firstOf(options.first);
  const { data, meta } = await connect(options).send('GET', entityPath(address, entity), {
    query: [
      ['search', words.join(' ')],
      ['size', first],
      ['fields', options.fields],
      ['expand', ''],
      ...(options.filter ?? []).map((value) => ['filter', value] as const),
      ...(options.sort ?? []).map((value) => ['sort', value] as const),
    ],
  });
  const found = data as readonly Found[];
  await printResult(options, found, () => describe(found, totalOf(meta)));
}

function firstOf(text: string | undefined): number {
  if (text === undefined) return FIRST;
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MOST) return Number(text);
  throw usageFailure(`--first takes a number of records from 1 to ${MOST}, not ${text}`);
}

const totalOf = (meta: Answer['meta']): number => Number((meta as { totalElements: unknown }).totalElements);

function describe(found: readonly Found[], total: number): string {
  const [record] = found;
  if (record === undefined) return 'Nothing was found.';
  const names = Object.keys(record);
  const table = renderTable(
    names,
    found.map((one) => names.map((name) => shortened(one[name]))),
  );
  return found.length === total ? table : `${table}\n\n${formatCount(found.length)} of ${formatCount(total)} records`;
}

function shortened(cell: unknown): unknown {
  if (typeof cell !== 'string') return cell;
  const characters = [...cell];
  return characters.length <= SHOWN_CHARACTERS ? cell : `${characters.slice(0, SHOWN_CHARACTERS - 1).join('')}…`;
}
