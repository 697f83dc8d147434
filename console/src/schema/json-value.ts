// JSON values of schema documents, changed without touching the original. Members may be called `constructor` or
// `__proto__`, so only own ones count, and only Object.fromEntries sets them.
import { Digits, type Json, stringifyExact } from '../api/json.ts';

export type JsonObject = { readonly [name: string]: Json };
export type Path = readonly string[];

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Digits);

export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** Lists own members in order; none if the value is no object. */
export const listMembers = (value: Json | undefined): readonly (readonly [string, Json])[] =>
  isObject(value) ? Object.entries(value) : [];

/** Returns the value at a path; indexes of lists are digits. */
export function getAt(value: Json | undefined, path: Path): Json | undefined {
  let current = value;
  for (const name of path) {
    if (isList(current)) current = current[Number(name)];
    else current = isObject(current) && Object.hasOwn(current, name) ? current[name] : undefined;
  }
  return current;
}

/** Sets the value at `path`, or removes it if `next` is undefined. New members come last. */
export function setAt(value: Json | undefined, path: Path, next: Json | undefined): Json {
  const [name, ...rest] = path;
  if (name === undefined) return next ?? null;
  if (isList(value)) {
    const index = Number(name);
    if (next === undefined && rest.length === 0) return value.filter((_, place) => place !== index);
    const entry = setAt(value[index], rest, next);
    return index >= value.length ? [...value, entry] : value.map((one, place) => (place === index ? entry : one));
  }
  const members = new Map(listMembers(value));
  if (next === undefined && rest.length === 0) members.delete(name);
  else members.set(name, setAt(members.get(name), rest, next));
  return Object.fromEntries(members);
}

/** Renames a member of the object at `path`, at the same position. */
export function renameAt(value: Json, path: Path, name: string, next: string): Json {
  const renamed = listMembers(getAt(value, path)).map(([key, one]) => [key === name ? next : key, one]);
  return setAt(value, path, Object.fromEntries(renamed));
}

/** Moves the member or entry at the end of `path` by one position. */
export function moveAt(value: Json, path: Path, by: -1 | 1): Json {
  const parent = path.slice(0, -1);
  const entries = [...listMembers(getAt(value, parent))];
  const from = entries.findIndex(([name]) => name === path.at(-1));
  const to = from + by;
  const [one, other] = [entries[from], entries[to]];
  if (one === undefined || other === undefined) return value;
  entries[to] = one;
  entries[from] = other;
  return setAt(value, parent, Object.fromEntries(entries));
}

/** Returns whether both have the same members in the same order, with the same digits. */
export const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && stringifyExact(one) === stringifyExact(other));

export const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export const asTexts = (value: Json | undefined): readonly string[] =>
  isList(value) ? value.filter((one) => typeof one === 'string') : [];
