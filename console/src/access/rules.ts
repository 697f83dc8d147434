// Draft of row rules (docs/reference/row-rules.md), and the comparison of the records that two versions show. Pure.

import { type Json, stringifyExact } from '../api/json.ts';
import type { EntityDocument } from '../api/schema.ts';
import type { RowRule } from '../api/types.ts';
import type { Claims } from '../api/view-as.ts';

/** Rules by entity; a Map, as a name may be `constructor`. */
export type RulesByEntity = ReadonlyMap<string, readonly RowRule[]>;

const areSame = (a: readonly RowRule[], b: readonly RowRule[]): boolean => formatRules(a) === formatRules(b);

/** Formats rules, one a line. */
export const formatRules = (rules: readonly RowRule[]): string =>
  rules.map(({ column, claim, enabled }) => `${column} = ${claim}${enabled ? '' : ' (off)'}`).join('\n');

/** Returns the draft with other rules for an entity; it holds only entities that differ from the rules in force. */
export function setRules(
  draft: RulesByEntity,
  inForce: RulesByEntity,
  entity: string,
  rules: readonly RowRule[],
): RulesByEntity {
  const next = new Map(draft);
  if (areSame(rules, inForce.get(entity) ?? [])) next.delete(entity);
  else next.set(entity, rules);
  return next;
}

/** Returns whether the rules restrict what external users see. */
export const hasActiveRule = (rules: readonly RowRule[]): boolean => rules.some(({ enabled }) => enabled);

// Column types that cannot be compared with a claim.
const NOT_COLUMNS = new Set(['json']);

/** Lists the columns that a rule may name: ids of belongsTo relations, fields, and the id. */
export function listRuleColumns(entity: EntityDocument): readonly string[] {
  const fields = [...entity.fields.values()].filter(({ type }) => !NOT_COLUMNS.has(type)).map(({ name }) => name);
  const keys = [...entity.relations.values()].flatMap(({ column }) => column ?? []);
  return [...keys, ...fields, 'id'];
}

export interface SharedColumn {
  readonly name: string;
  readonly entities: readonly string[];
}

/** Lists the columns that two entities or more have, those of the most entities first; `id` is another one in each. */
export function listSharedColumns(entities: readonly EntityDocument[]): readonly SharedColumn[] {
  const byName = new Map<string, string[]>();
  for (const entity of entities)
    for (const name of listRuleColumns(entity)) {
      const names = byName.get(name) ?? [];
      names.push(entity.name);
      byName.set(name, names);
    }
  return [...byName]
    .map(([name, names]) => ({ name, entities: names }))
    .filter((column) => column.name !== 'id' && column.entities.length > 1)
    .sort((one, other) => other.entities.length - one.entities.length || (one.name < other.name ? -1 : 1));
}

/** Records of an entity that a user sees: the total, and the first ones. */
export interface VisibleRecords {
  readonly total: number;
  readonly records: readonly { readonly [name: string]: Json }[];
}

export type VisibilityChange = 'stays' | 'appears' | 'disappears';

const readId = (record: { readonly [name: string]: Json }): string => stringifyExact(record.id);

/**
 * Returns the ids of one side that are not among the first records of the other: only a request tells whether it has
 * them.
 */
export const findUnmatchedIds = (side: VisibleRecords, other: VisibleRecords): readonly string[] => {
  const there = new Set(other.records.map(readId));
  return side.records.map(readId).filter((id) => !there.has(id));
};

/** Returns the change of each visible record. `stillSeen`: unmatched ids that the other side has as well. */
export function compareVisibility(
  side: VisibleRecords,
  other: VisibleRecords,
  stillSeen: ReadonlySet<string>,
  fate: VisibilityChange,
): ReadonlyMap<string, VisibilityChange> {
  const hiddenIds = new Set(findUnmatchedIds(side, other).filter((id) => !stillSeen.has(id)));
  return new Map(side.records.map(readId).map((id) => [id, hiddenIds.has(id) ? fate : 'stays']));
}

/** Case of a file for `wda access test`. */
export interface AccessCase {
  readonly name: string;
  readonly claims: Claims;
  readonly entity: string;
  readonly ids: readonly string[];
  /** Whether the user sees exactly these records. */
  readonly isAll: boolean;
}

// JSON is YAML 1.2: quoted names and values keep `no`, `1e3` and `: ` as they are.
const quote = (text: string): string => JSON.stringify(text);

/** Prints the test cases as YAML. */
export function printTestCases(cases: readonly AccessCase[]): string {
  const lines = cases.flatMap(({ name, claims, entity, ids, isAll }) => [
    `  - name: ${quote(name)}`,
    `    claims: ${stringifyExact(claims)}`,
    `    ${isAll ? 'only' : 'visible'}: { ${quote(entity)}: [${ids.join(', ')}] }`,
  ]);
  return `cases:\n${lines.join('\n')}\n`;
}

/** Prints the file for `--rules`: the entities that have a draft. */
export function printRules(draft: RulesByEntity): string {
  const lines = [...draft].flatMap(([entity, rules]) =>
    rules.length === 0
      ? [`${quote(entity)}: []`]
      : [
          `${quote(entity)}:`,
          ...rules.map(
            ({ column, claim, enabled }) =>
              `  - { column: ${quote(column)}, claim: ${quote(claim)}, enabled: ${enabled} }`,
          ),
        ],
  );
  return `${lines.join('\n')}\n`;
}
