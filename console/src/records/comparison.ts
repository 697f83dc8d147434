// Three versions of a record: the one an edit began with, the edit, and what somebody else has made of it meanwhile. Pure.
import type { Json } from '../api/json.ts';
import { isSameValue, memberOf, type RecordValue } from './value.ts';

export interface Difference {
  readonly name: string;
  readonly before: Json | undefined;
  /** Undefined: not touched. */
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
  /** Whether both changed it, to different values. */
  readonly isConflict: boolean;
}

/** The fields that either has changed, in the order of `names`; stamps of the server are left out. */
export function differencesOf(
  names: readonly string[],
  before: RecordValue,
  changes: ReadonlyMap<string, Json>,
  theirs: RecordValue,
): readonly Difference[] {
  return names.flatMap((name) => {
    const was = memberOf(before, name);
    const mine = changes.get(name);
    const now = memberOf(theirs, name);
    const theyChanged = !isSameValue(was, now);
    const iChanged = mine !== undefined && !isSameValue(was, mine);
    if (!theyChanged && !iChanged) return [];
    return [{ name, before: was, mine, theirs: now, isConflict: theyChanged && iChanged && !isSameValue(mine, now) }];
  });
}
