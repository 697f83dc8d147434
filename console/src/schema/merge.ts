// Three-way merge of a schema document: a member that only one side changed is merged, one that both changed is a
// conflict. Lists (indexes, values of an enum) count as one value.
import type { Json } from '../api/json.ts';
import { getAt, isObject, isSame, type JsonObject, type Path, setAt } from './json-value.ts';

export interface Conflict {
  readonly path: Path;
  /** Value before both changes, or undefined if the member is missing. */
  readonly base: Json | undefined;
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
}

export interface MergeResult {
  /** Merged value, with mine where both changed. */
  readonly value: Json;
  readonly conflicts: readonly Conflict[];
}

export function mergeDocuments(base: Json, mine: Json, theirs: Json): MergeResult {
  const conflicts: Conflict[] = [];
  const value = mergeAt({ base, mine, theirs, path: [] }, conflicts);
  return { value: value ?? null, conflicts };
}

/** Returns the merged value with theirs at these conflicts. */
export const takeTheirs = (value: Json, conflicts: readonly Conflict[]): Json =>
  conflicts.reduce((next, { path, theirs }) => setAt(next, path, theirs), value);

interface Three extends Omit<Conflict, 'path'> {
  readonly path: Path;
}

function mergeAt({ base, mine, theirs, path }: Three, conflicts: Conflict[]): Json | undefined {
  if (isSame(mine, theirs) || isSame(theirs, base)) return mine;
  if (isSame(mine, base)) return theirs;
  if (isObject(mine) && isObject(theirs)) {
    const before: JsonObject = isObject(base) ? base : {};
    const members = mergeOrder(before, mine, theirs).map((name): [string, Json | undefined] => {
      const three = { base: getAt(before, [name]), mine: getAt(mine, [name]), theirs: getAt(theirs, [name]) };
      return [name, mergeAt({ ...three, path: [...path, name] }, conflicts)];
    });
    return Object.fromEntries(members.filter((member): member is [string, Json] => member[1] !== undefined));
  }
  conflicts.push({ path, base, mine, theirs });
  return mine;
}

/**
 * Merges the order of members: mine, with their additions after the same neighbour; theirs if I did not change the
 * order.
 */
function mergeOrder(base: JsonObject, mine: JsonObject, theirs: JsonObject): readonly string[] {
  const common = (one: JsonObject, other: JsonObject): string =>
    Object.keys(one)
      .filter((name) => Object.hasOwn(other, name))
      .join();
  const isMyOrder = common(mine, base) !== common(base, mine);
  const [first, second] = isMyOrder ? [mine, theirs] : [theirs, mine];
  const order = Object.keys(first);
  let place = 0;
  for (const name of Object.keys(second)) {
    const index = order.indexOf(name);
    if (index < 0) order.splice(place, 0, name);
    place = (index < 0 ? place : index) + 1;
  }
  return order;
}
