// State of a screen in the address bar, by the parameter names of the API; repeated where the API repeats them.

/** Value by name, or several values in order. */
export type Search = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Parses `?filter=a&filter=b&sort=c` to `{filter: ['a', 'b'], sort: 'c'}`. */
export function parseSearch(text: string): Search {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const before = values.get(name);
    values.set(name, before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value]);
  }
  return Object.fromEntries(values);
}

/** Prints the query string; commas stay readable. */
export function stringifySearch(search: Search): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined) continue;
    for (const one of typeof value === 'string' ? [value] : value) parameters.append(name, one);
  }
  const text = parameters.toString().replaceAll('%2C', ',');
  return text === '' ? '' : `?${text}`;
}

/** Returns all values of a parameter. */
export function getAll(search: Search, name: string): readonly string[] {
  const value = Object.hasOwn(search, name) ? search[name] : undefined;
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}
