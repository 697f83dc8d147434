// Two changed the same schema document: member by member, what only one of them touched is taken over, and what both did is
// shown. Lists (indexes, values of an enum) count as one value.
import type { Json } from '../api/json.ts';
import { at, isObject, isSame, type JsonObject, type Path, withAt } from './json-value.ts';

export interface Conflict {
  readonly path: Path;
  /** Undefined: not there. */
  readonly base: Json | undefined;
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
}

export interface Merged {
  /** With mine where both touched. */
  readonly value: Json;
  readonly conflicts: readonly Conflict[];
}

export function merged(base: Json, mine: Json, theirs: Json): Merged {
  const conflicts: Conflict[] = [];
  const value = mergedAt({ base, mine, theirs, path: [] }, conflicts);
  return { value: value ?? null, conflicts };
}

/** The merged value in which the conflicts at these paths are decided for them. */
export const withTheirs = (value: Json, conflicts: readonly Conflict[]): Json =>
  conflicts.reduce((next, { path, theirs }) => withAt(next, path, theirs), value);

interface Three extends Omit<Conflict, 'path'> {
  readonly path: Path;
}

function mergedAt({ base, mine, theirs, path }: Three, conflicts: Conflict[]): Json | undefined {
  if (isSame(mine, theirs) || isSame(theirs, base)) return mine;
  if (isSame(mine, base)) return theirs;
  if (isObject(mine) && isObject(theirs)) {
    const before: JsonObject = isObject(base) ? base : {};
    const members = orderOf(before, mine, theirs).map((name): [string, Json | undefined] => {
      const three = { base: at(before, [name]), mine: at(mine, [name]), theirs: at(theirs, [name]) };
      return [name, mergedAt({ ...three, path: [...path, name] }, conflicts)];
    });
    return Object.fromEntries(members.filter((member): member is [string, Json] => member[1] !== undefined));
  }
  conflicts.push({ path, base, mine, theirs });
  return mine;
}

/** My order, with what they added behind its neighbour; theirs where I left the order as it was. */
function orderOf(base: JsonObject, mine: JsonObject, theirs: JsonObject): readonly string[] {
  const common = (one: JsonObject, other: JsonObject): string =>
    Object.keys(one)
      .filter((name) => Object.hasOwn(other, name))
      .join();
  const isMyOrder = common(mine, base) !== common(base, mine);
  const [first, second] = isMyOrder ? [mine, theirs] : [theirs, mine];
  const order = Object.keys(first);
  let place = 0;
  for (const name of Object.keys(second)) {
    const known = order.indexOf(name);
    if (known < 0) order.splice(place, 0, name);
    place = (known < 0 ? place : known) + 1;
  }
  return order;
}
