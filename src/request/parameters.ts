// A query string -> the parameters that a request takes, each with its values; what it does not take is refused.
import { badRequest, repeatedParameter, unknownParameter } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { parseQueryString } from './query-string.ts';

export interface Collected {
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Of `<path>.size`, `.sort`, `.filter` and `.search`: by path, then by what follows it. */
  readonly narrowings: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
}

const NARROWING = /^(.+)\.(size|sort|filter|search)$/;

/** Parameters of a request that takes only `known` ones, each at most once. */
export function parseParameters(query: string, known: readonly string[]): ReadonlyMap<string, string> {
  const { values } = collect(query, known, false);
  return new Map([...values.keys()].map((name) => [name, single(values, name) as string]));
}

/** `narrows`: true when it takes `<path>.size`, `.sort` and `.filter`. */
export function collect(query: string, known: readonly string[], narrows: boolean): Collected {
  const values = new Map<string, string[]>();
  const narrowings = new Map<string, Map<string, string[]>>();
  for (const { name, value } of parseQueryString(query)) {
    if (known.includes(name)) append(values, name, value);
    else if (!name.startsWith('_')) {
      const match = narrows ? NARROWING.exec(name) : null;
      if (match === null) throw unknownParameter(name, closest(name, known), known);
      const path = match[1] as string;
      const parts = narrowings.get(path) ?? new Map<string, string[]>();
      append(parts, match[2] as string, value);
      narrowings.set(path, parts);
    }
  }
  return { values, narrowings };
}

function append(map: Map<string, string[]>, name: string, value: string): void {
  const values = map.get(name);
  if (values === undefined) map.set(name, [value]);
  else values.push(value);
}

/** The value of a parameter that may be given once; `as` is its name in a refusal. */
export function single(values: ReadonlyMap<string, readonly string[]>, name: string, as = name): string | undefined {
  const given = values.get(name);
  if (given !== undefined && given.length > 1) throw repeatedParameter(as);
  return given?.[0];
}

/** `dryRun`: everything is checked and run, and undone. */
export function parseDryRun(text: string | undefined): boolean {
  if (text !== undefined && text !== 'true' && text !== 'false') throw badRequest('dryRun must be true or false');
  return text === 'true';
}
