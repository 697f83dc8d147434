// Collects mistakes during the checks of a document: with their path, without their consequences, and sorted in the
// order of the document.
import { type Detail, type DetailCode, shorten } from '../errors.ts';
import { closest } from '../model/closest.ts';

export type Path = readonly (string | number)[];

export interface Report {
  (path: Path, code: DetailCode, message: string): void;
  /** Suggests the known name that an unknown one was probably meant to be. */
  readonly suggest: (name: string, candidates: Iterable<string>) => string | undefined;
  /** Returns whether a mistake at `path` is reported already; its consequences are then not reported. */
  readonly has: (path: Path) => boolean;
  /** Removes REQUIRED at this path: the member exists, but is misspelt. */
  readonly misspelt: (path: Path) => void;
  /** Returns whether there are so many mistakes that more are of no use. */
  readonly isFull: () => boolean;
  readonly details: () => Detail[];
}

/** Returns the report with `note` added to each message. */
export function withSuffix(report: Report, suffix: string): Report {
  const noting = (path: Path, code: DetailCode, message: string): void => report(path, code, `${message}${suffix}`);
  return Object.assign(noting, report);
}

/** Returns the report for a part of the document, whose paths begin there. */
export function withPrefix(report: Report, prefix: Path): Report {
  const below = (path: Path, code: DetailCode, message: string): void => report([...prefix, ...path], code, message);
  return Object.assign(below, {
    ...report,
    has: (path: Path) => report.has([...prefix, ...path]),
    misspelt: (path: Path) => report.misspelt([...prefix, ...path]),
  });
}

// Most mistakes in a response; without a limit the response to a document of mistakes would be larger than the
// document.
const MAX_DETAILS = 1000;
// Most collected mistakes, of which the first in the document are listed. Going on to 40,000 took a second of the
// process.
const MAX_MISTAKES = 2 * MAX_DETAILS;
// A suggestion costs the edit distance to every known name, up to 0.3 ms; a document may hold 50,000 unknown ones.
const MAX_HINTS = 200;
// A path of known names is shorter; an unknown member may have a name of any length.
const MAX_PATH_CHARACTERS = 400;
const MAX_MESSAGE_CHARACTERS = 1000;

export const pathText = (path: Path): string => path.join('.');

/** Formats a suggestion as a sentence of a message, with the space before it; empty without one. */
export const hint = (suggestion: string | undefined): string =>
  suggestion === undefined ? '' : ` Did you mean ${suggestion}?`;

/** Creates a report. Paths lead into `document`, which determines the order of the mistakes. */
export function makeReport(document: unknown): Report {
  const entries = new Map<string, Mistake>();
  const misspelt = new Set<string>();
  let hints = 0;
  const report = (path: Path, code: DetailCode, message: string): void => {
    const field = pathText(path);
    if (entries.has(field)) return;
    const detail = { field: field === '' ? null : field, code, message: shorten(message, MAX_MESSAGE_CHARACTERS) };
    entries.set(field, { path, detail });
  };
  return Object.assign(report, {
    suggest(name: string, candidates: Iterable<string>) {
      return ++hints > MAX_HINTS ? undefined : (closest(name, candidates) ?? undefined);
    },
    has: (path: Path) => entries.has(pathText(path)),
    misspelt: (path: Path) => {
      misspelt.add(pathText(path));
    },
    isFull: () => entries.size >= MAX_MISTAKES,
    details() {
      const mistakes = [...entries.values()].filter(
        ({ detail: { code, field } }) => !(code === 'REQUIRED' && field !== null && misspelt.has(field)),
      );
      return inOrder(document, mistakes)
        .slice(0, MAX_DETAILS)
        .map(({ detail }) => ({ ...detail, field: detail.field && shorten(detail.field, MAX_PATH_CHARACTERS) }));
    },
  });
}

interface Mistake {
  readonly path: Path;
  readonly detail: Detail;
}

/** Sorts by the position of each path in the document; a path that does not exist comes after its nearest ancestor. */
function inOrder(document: unknown, mistakes: readonly Mistake[]): Mistake[] {
  const numbers = new Map<object, Map<string, number>>();
  const findIndex = (parent: unknown, key: string): number | undefined => {
    if (typeof parent !== 'object' || parent === null) return undefined;
    let keys = numbers.get(parent);
    if (keys === undefined) {
      keys = new Map(Object.keys(parent).map((name, at) => [name, at]));
      numbers.set(parent, keys);
    }
    return keys.get(key);
  };
  const getPosition = (path: Path): number[] => {
    const position: number[] = [];
    let value = document;
    for (const part of path) {
      const number = findIndex(value, String(part));
      // Sorts before the existing members.
      position.push(number ?? -1);
      if (number === undefined) break;
      value = (value as Record<string, unknown>)[part];
    }
    return position;
  };
  return mistakes
    .map((mistake) => ({ mistake, position: getPosition(mistake.path) }))
    .sort((a, b) => comparePositions(a.position, b.position))
    .map(({ mistake }) => mistake);
}

/** Sorts containers before their content. */
function comparePositions(a: readonly number[], b: readonly number[]): number {
  for (const [at, number] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    if (number !== other) return number - other;
  }
  return a.length - b.length;
}
