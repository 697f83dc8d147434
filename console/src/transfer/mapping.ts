// Which column of a file goes into which field. Pure.

/** By header; null: the column is left out. */
export type Mapping = ReadonlyMap<string, string | null>;

const plain = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** Headers are taken for fields that are written alike; `customer` also for the column `customerId`. Each field is taken once. */
export function guess(headers: readonly string[], fields: readonly string[]): Mapping {
  const free = new Set(fields);
  const mapping = new Map<string, string | null>(headers.map((header) => [header, null]));
  const ways: ((header: string, field: string) => boolean)[] = [
    (header, field) => header === field,
    (header, field) => plain(header) === plain(field),
    (header, field) => `${plain(header)}id` === plain(field),
  ];
  for (const fits of ways) {
    for (const header of headers) {
      if (mapping.get(header) !== null) continue;
      const field = [...free].find((one) => fits(header, one));
      if (field === undefined) continue;
      mapping.set(header, field);
      free.delete(field);
    }
  }
  return mapping;
}

/** The parameter `map` of an import; undefined when nothing has another name. */
export function mapParameter(mapping: Mapping): string | undefined {
  const entries = [...mapping].filter(([header, field]) => header !== field);
  if (entries.length === 0) return undefined;
  return entries.map(([header, field]) => `${header.replaceAll(',', '\\,')}:${field ?? ''}`).join(',');
}
