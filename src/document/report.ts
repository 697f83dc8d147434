// Mistakes in a document while it is being checked: collected with their path, without their consequences, and given in
// the order in which they stand in the document.
import { type Detail, type DetailCode, shown } from '../errors.ts';
import { closest } from '../model/closest.ts';

export type Path = readonly (string | number)[];

export interface Report {
  (path: Path, code: DetailCode, message: string): void;
  /** The known name that an unknown one was probably meant to be. */
  readonly suggest: (name: string, known: Iterable<string>) => string | undefined;
  /** True when a mistake at `path` is reported already; its consequences are then not reported. */
  readonly has: (path: Path) => boolean;
  /** Takes back REQUIRED at this path: the member is there, but misspelt. */
  readonly misspelt: (path: Path) => void;
  readonly details: () => Detail[];
}

/** The same report with `note` added to each message. */
export function withNote(report: Report, note: string): Report {
  const noting = (path: Path, code: DetailCode, message: string): void => report(path, code, `${message}${note}`);
  return Object.assign(noting, report);
}

// Enough to work through; without it the answer to a document of mistakes only would be larger than the document.
const MAX_DETAILS = 1000;
// A suggestion costs the edit distance to every known name, up to 0.3 ms; a document may hold 50,000 unknown ones.
const MAX_HINTS = 200;
// A path of known names is shorter; an unknown member may have a name of any length.
const MAX_PATH_CHARACTERS = 400;
const MAX_MESSAGE_CHARACTERS = 1000;

export const pathText = (path: Path): string => path.join('.');

/** A suggestion as a sentence of a message, with the space before it; empty without one. */
export const hint = (suggestion: string | undefined): string =>
  suggestion === undefined ? '' : ` Did you mean ${suggestion}?`;

/** `document` is what the paths lead into; it gives the order of the mistakes. */
export function makeReport(document: unknown): Report {
  const found = new Map<string, Detail>();
  const misspelt = new Set<string>();
  let hints = 0;
  const report = (path: Path, code: DetailCode, message: string): void => {
    const field = pathText(path);
    if (found.has(field)) return;
    found.set(field, { field: field === '' ? null : field, code, message: shown(message, MAX_MESSAGE_CHARACTERS) });
  };
  return Object.assign(report, {
    suggest(name: string, known: Iterable<string>) {
      return ++hints > MAX_HINTS ? undefined : (closest(name, known) ?? undefined);
    },
    has: (path: Path) => found.has(pathText(path)),
    misspelt: (path: Path) => {
      misspelt.add(pathText(path));
    },
    details() {
      const details = [...found.values()].filter(
        ({ code, field }) => !(code === 'REQUIRED' && field !== null && misspelt.has(field)),
      );
      return inOrder(document, details)
        .slice(0, MAX_DETAILS)
        .map((detail) => ({ ...detail, field: detail.field && shown(detail.field, MAX_PATH_CHARACTERS) }));
    },
  });
}

/** Sorts by the place of each path in the document; a path that does not exist comes after its nearest ancestor. */
function inOrder(document: unknown, details: readonly Detail[]): Detail[] {
  if (details.length < 2) return [...details];
  const places = new Map<string, number>();
  const walk = (value: unknown, path: string): void => {
    places.set(path, places.size);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, member] of Object.entries(value)) walk(member, path === '' ? key : `${path}.${key}`);
  };
  walk(document, '');
  const placeOf = (field: string): number => {
    const place = places.get(field);
    if (place !== undefined) return place;
    const dot = field.lastIndexOf('.');
    return dot === -1 ? 0 : placeOf(field.slice(0, dot)) + 0.5;
  };
  return details
    .map((detail) => ({ detail, place: placeOf(detail.field ?? '') }))
    .sort((a, b) => a.place - b.place)
    .map(({ detail }) => detail);
}
