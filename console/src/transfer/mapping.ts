// Which column of a file goes into which field. Pure.

/** By header; null: the column is left out. */
export type Mapping = ReadonlyMap<string, string | null>;

const normalize = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

// Shorter fields would match too many headers: `Order id` is not the id.
const SHORTEST_PART = 3;

/** Whether words of a header, side by side, are a field: `E-Mail Address` has `email`, `Unpaid` has no `paid`. */
function isPart(header: string, field: string): boolean {
  const wanted = normalize(field);
  const words = (header.match(/[\p{L}\p{M}]+|\p{N}+/gu) ?? []).map(normalize);
  const runs = words.flatMap((_, from) =>
    words.slice(from).map((_, more) => words.slice(from, from + more + 1).join('')),
  );
  return wanted.length >= SHORTEST_PART && runs.includes(wanted);
}

/**
 * Headers are taken for fields that are written alike; `customer` also for the column `customerId`, and `E-Mail Address` for
 * `email`. Each field is taken once.
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

/** The parameter `map` of an import; undefined when nothing has another name. */
export function printMapParameter(mapping: Mapping): string | undefined {
  const entries = [...mapping].filter(([header, field]) => header !== field);
  if (entries.length === 0) return undefined;
  return entries.map(([header, field]) => `${header.replaceAll(',', '\\,')}:${field ?? ''}`).join(',');
}
