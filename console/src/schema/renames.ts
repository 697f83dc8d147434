// Detection of renames: a removed and a similar added entity, field or relation. Without `renamedFrom` its records or
// values would be lost, so the screen asks.
import type { Json } from '../api/json.ts';
import { asText, getAt, isSame, listMembers, type Path, setAt } from './json-value.ts';

export interface RenameCandidate {
  readonly kind: 'entity' | 'field' | 'relation';
  /** Path of the new member in the draft. */
  readonly path: Path;
  readonly from: string;
  readonly to: string;
}

/** Similarity from 0 to 1 (equal). */
type Similarity = (before: Json, after: Json) => number;

// Threshold below which two members are different things.
const ALIKE = 0.5;

/**
 * Finds entities, fields and relations of the draft that may be renamed ones of the document in force, best pairs
 * first.
 */
export function findRenames(inForce: Json, draft: Json): readonly RenameCandidate[] {
  const entities = matchPairs(getAt(inForce, ['entities']), getAt(draft, ['entities']), compareEntities).map(
    ([from, to]): RenameCandidate => ({ kind: 'entity', path: ['entities', to], from, to }),
  );
  const inside = listMembers(getAt(draft, ['entities'])).flatMap(([name, entity]) => {
    const before = getAt(inForce, ['entities', asText(getAt(entity, ['renamedFrom'])) || name]);
    const within = (kind: 'field' | 'relation', part: string, likeness: Similarity): RenameCandidate[] =>
      matchPairs(getAt(before, [part]), getAt(entity, [part]), likeness).map(([from, to]) => ({
        kind,
        path: ['entities', name, part, to],
        from,
        to,
      }));
    return [...within('field', 'fields', compareFields), ...within('relation', 'relations', compareRelations)];
  });
  return [...entities, ...inside];
}

/** Returns the draft with `renamedFrom` at the new member. */
export const applyRename = (draft: Json, { path, from }: RenameCandidate): Json =>
  setAt(draft, [...path, 'renamedFrom'], from);

function matchPairs(
  before: Json | undefined,
  after: Json | undefined,
  likeness: Similarity,
): readonly [string, string][] {
  const [old, now] = [new Map(listMembers(before)), new Map(listMembers(after))];
  const claimed = new Set([...now.values()].map((one) => asText(getAt(one, ['renamedFrom']))));
  const removed = [...old].filter(([name]) => !now.has(name) && !claimed.has(name));
  const added = [...now].filter(([name, one]) => !old.has(name) && getAt(one, ['renamedFrom']) === undefined);
  const scored = removed
    .flatMap(([from, was]) => added.map(([to, is]) => ({ from, to, score: likeness(was, is) })))
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

/** Fields of one type are similar, the more so by each equal attribute. */
const compareFields: Similarity = (before, after) =>
  isSame(getAt(before, ['type']), getAt(after, ['type']))
    ? ALIKE + getSharedRatio(listMembers(before), listMembers(after)) / 2
    : 0;

const compareRelations: Similarity = (before, after) =>
  isSame(getAt(before, ['kind']), getAt(after, ['kind'])) && isSame(getAt(before, ['entity']), getAt(after, ['entity']))
    ? ALIKE + getSharedRatio(listMembers(before), listMembers(after)) / 2
    : 0;

/** Entities are similar by their fields of equal name and type. */
const compareEntities: Similarity = (before, after) => {
  const listTypes = (entity: Json) =>
    listMembers(getAt(entity, ['fields'])).map(([name, field]): [string, Json] => [
      name,
      getAt(field, ['type']) ?? null,
    ]);
  return getSharedRatio(listTypes(before), listTypes(after));
};

/** Returns the ratio of members that both have. */
function getSharedRatio(
  one: readonly (readonly [string, Json])[],
  other: readonly (readonly [string, Json])[],
): number {
  const members = new Map(one);
  const same = other.filter(([name, value]) => members.has(name) && isSame(members.get(name), value)).length;
  const all = one.length + other.length - same;
  return all === 0 ? 1 : same / all;
}
