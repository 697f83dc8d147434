// Mapping from columns of a file to fields. Pure.

/** Field by header; null leaves the column out. */
export type Mapping = ReadonlyMap<string, string | null>;

const normalize = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

// Shortest field that matches a part of a header: shorter ones match too many, as `Order id` is not the id.
const SHORTEST_PART = 3;

/** Returns whether adjacent words of a header are a field: `E-Mail Address` has `email`, `Unpaid` has no `paid`. */
function isPart(header: string, field: string): boolean {
  const target = normalize(field);
  const words = (header.match(/[\p{L}\p{M}]+|\p{N}+/gu) ?? []).map(normalize);
  const runs = words.flatMap((_, from) =>
    words.slice(from).map((_, more) => words.slice(from, from + more + 1).join('')),
  );
  return target.length >= SHORTEST_PART && runs.includes(target);
}

/**
 * Guesses the field of each header by its name; `customer` also matches the column `customerId`, and `E-Mail Address`
 * matches `email`. Each field is used once.
 */
export function guessMapping(headers: readonly string[], fields: readonly string[]): Mapping {
  const free = new Set(fields);
  const mapping = new Map<string, string | null>(headers.map((header) => [header, null]));
  const matchers: ((header: string, field: string) => boolean)[] = [
    (header, field) => header === field,
    (header, field) => normalize(header) === normalize(field),
    (header, field) => `${normalize(header)}id` === normalize(field),
  ];
  for (const fits of matchers) {
    for (const header of headers) {
      if (mapping.get(header) !== null) continue;
      const field = [...free].find((one) => fits(header, one));
      if (field === undefined) continue;
      mapping.set(header, field);
      free.delete(field);
    }
  }
  for (const field of free) {
    const [only, ...others] = headers.filter((header) => mapping.get(header) === null && isPart(header, field));
    // Neither `First name` nor `Last name` is the name.
    if (only !== undefined && others.length === 0) mapping.set(only, field);
  }
  return mapping;
}

/** Prints the parameter `map` of an import, or undefined if all names are equal. */
export function printMapParameter(mapping: Mapping): string | undefined {
  // A look-up is named also where the header is the same.
  const entries = [...mapping].filter(([header, field]) => header !== field || field.includes('.'));
  if (entries.length === 0) return undefined;
  return entries.map(([header, field]) => `${header.replace(/[\\,]/g, '\\$&')}:${field ?? ''}`).join(',');
}

/** Forms of cells, empty for those of the API. */
export interface Formats {
  readonly date: string;
  readonly decimal: string;
  readonly boolean: string;
}

export const NO_FORMATS: Formats = { date: '', decimal: '', boolean: '' };

/** Prints the parameter `formats` of an import, or undefined without any. */
export function printFormats({ date, decimal, boolean }: Formats): string | undefined {
  const parts = Object.entries({ date, decimal, boolean }).flatMap(([type, form]) =>
    form.trim() === '' ? [] : [`${type}:${form.trim()}`],
  );
  return parts.length === 0 ? undefined : parts.join(';');
}
