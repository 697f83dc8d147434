// One entity, field or relation went, and one like it came: that may be a renaming. Without `renamedFrom` its records or values
// would be lost, so it is asked.
import type { Json } from '../api/json.ts';
import { at, isSame, membersOf, type Path, textOf, withAt } from './json-value.ts';

export interface Renaming {
  readonly kind: 'entity' | 'field' | 'relation';
  /** Of the new one, in the draft. */
  readonly path: Path;
  readonly from: string;
  readonly to: string;
}

/** From 0, nothing alike, to 1, the same. */
type Likeness = (gone: Json, come: Json) => number;

// Below it two are of another kind.
const ALIKE = 0.5;

/** Entities, fields and relations of the draft that may be renamed ones of the document in force, best pairs first. */
export function renamingsOf(inForce: Json, draft: Json): readonly Renaming[] {
  const entities = pairsOf(at(inForce, ['entities']), at(draft, ['entities']), entityLikeness).map(
    ([from, to]): Renaming => ({ kind: 'entity', path: ['entities', to], from, to }),
  );
  const inside = membersOf(at(draft, ['entities'])).flatMap(([name, entity]) => {
    const before = at(inForce, ['entities', textOf(at(entity, ['renamedFrom'])) || name]);
    const within = (kind: 'field' | 'relation', part: string, likeness: Likeness): Renaming[] =>
      pairsOf(at(before, [part]), at(entity, [part]), likeness).map(([from, to]) => ({
        kind,
        path: ['entities', name, part, to],
        from,
        to,
      }));
    return [...within('field', 'fields', fieldLikeness), ...within('relation', 'relations', relationLikeness)];
  });
  return [...entities, ...inside];
}

/** The draft in which the new one keeps what the old one holds. */
export const withRenaming = (draft: Json, { path, from }: Renaming): Json =>
  withAt(draft, [...path, 'renamedFrom'], from);

function pairsOf(before: Json | undefined, after: Json | undefined, likeness: Likeness): readonly [string, string][] {
  const [old, now] = [new Map(membersOf(before)), new Map(membersOf(after))];
  const claimed = new Set([...now.values()].map((one) => textOf(at(one, ['renamedFrom']))));
  const gone = [...old].filter(([name]) => !now.has(name) && !claimed.has(name));
  const come = [...now].filter(([name, one]) => !old.has(name) && at(one, ['renamedFrom']) === undefined);
  const scored = gone
    .flatMap(([from, was]) => come.map(([to, is]) => ({ from, to, score: likeness(was, is) })))
    .filter(({ score }) => score >= ALIKE)
    .sort((one, other) => other.score - one.score);
  const pairs: [string, string][] = [];
  const used = new Set<string>();
  for (const { from, to } of scored) {
    if (used.has(`-${from}`) || used.has(`+${to}`)) continue;
    used.add(`-${from}`).add(`+${to}`);
    pairs.push([from, to]);
  }
  return pairs;
}

/** Fields of one type are alike; the more attributes they share, the more. */
const fieldLikeness: Likeness = (gone, come) =>
  isSame(at(gone, ['type']), at(come, ['type'])) ? ALIKE + shared(membersOf(gone), membersOf(come)) / 2 : 0;

const relationLikeness: Likeness = (gone, come) =>
  isSame(at(gone, ['kind']), at(come, ['kind'])) && isSame(at(gone, ['entity']), at(come, ['entity']))
    ? ALIKE + shared(membersOf(gone), membersOf(come)) / 2
    : 0;

/** By the fields of the same name and type. */
const entityLikeness: Likeness = (gone, come) => {
  const typed = (entity: Json) =>
    membersOf(at(entity, ['fields'])).map(([name, field]): [string, Json] => [name, at(field, ['type']) ?? null]);
  return shared(typed(gone), typed(come));
};

/** Which part of all members is in both. */
function shared(one: readonly (readonly [string, Json])[], other: readonly (readonly [string, Json])[]): number {
  const known = new Map(one);
  const same = other.filter(([name, value]) => known.has(name) && isSame(known.get(name), value)).length;
  const all = one.length + other.length - same;
  return all === 0 ? 1 : same / all;
}
