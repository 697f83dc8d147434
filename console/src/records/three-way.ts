// Three-way comparison of a record that two users have changed.
import type { Json } from '../api/json.ts';
import type { Values } from './history.ts';
import { getMember, isSameValue, type RecordValue } from './value.ts';

export interface Difference {
  readonly name: string;
  readonly before: Json | undefined;
  /** Our value, or undefined if we did not change it. */
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
  readonly isBoth: boolean;
}

export interface ThreeWay {
  /** Record before both changes, without truncated values, as these cannot be compared. */
  readonly base: RecordValue;
  readonly mine: Values;
  readonly theirs: RecordValue;
}

/** Returns the fields that either side has changed, in the order of `names`; equal changes are no difference. */
export function compareThreeWay({ base, mine, theirs }: ThreeWay, names: readonly string[]): readonly Difference[] {
  return names.flatMap((name): readonly Difference[] => {
    const before = getMember(base, name);
    const now = getMember(theirs, name);
    const isTheirs = before !== undefined && !isSameValue(before, now);
    const isMine = mine.has(name);
    if (!isTheirs && !isMine) return [];
    const isBoth = isMine && isTheirs && !isSameValue(mine.get(name), now);
    return [{ name, before, mine: mine.get(name), theirs: now, isBoth }];
  });
}
