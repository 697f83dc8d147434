// What keys and clients have in common: which entities they reach, and names that several of them have.
import { usageFailure } from './failure.ts';

/** `orders,items` as a member of the body that makes a key or client; no member when it was not given. */
export function entitiesMember(text: string | undefined): { readonly entities?: readonly string[] } {
  if (text === undefined) return {};
  const entities = text.split(',').map((name) => name.trim());
  if (entities.includes('')) throw usageFailure(`--entities takes names separated by commas, not ${text || '""'}`);
  return { entities };
}

/** The entities that a key or client reaches, for people. */
export const entitiesText = (entities: readonly string[] | null | undefined): string =>
  entities == null ? 'all' : entities.join(', ') || 'none';

/** The names for a list, those that stand in it several times with their number: nobody could be found by them. */
export function markedNames(names: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name) => ((counts.get(name) ?? 0) > 1 ? `${name} (${counts.get(name)} of this name)` : name));
}
