// Row rules as a draft beside those in force (docs/reference/row-rules.md), and what a try of them shows. Pure.

import { type Json, stringifyExact } from '../api/json.ts';
import type { EntityDocument } from '../api/schema.ts';
import type { RowRule } from '../api/types.ts';
import type { Claims } from '../api/view-as.ts';

/** By entity; names may be `constructor`. */
export type RulesByEntity = ReadonlyMap<string, readonly RowRule[]>;

const areSame = (a: readonly RowRule[], b: readonly RowRule[]): boolean => formatRules(a) === formatRules(b);

/** A line for each rule. */
export const formatRules = (rules: readonly RowRule[]): string =>
  rules.map(({ column, claim, enabled }) => `${column} = ${claim}${enabled ? '' : ' (off)'}`).join('\n');

/** The draft with other rules of an entity; it holds only what differs from what is in force. */
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

/** Whether external users see only some of the records. */
export const hasActiveRule = (rules: readonly RowRule[]): boolean => rules.some(({ enabled }) => enabled);

// Their values are no claim's, or they have none.
const NOT_COLUMNS = new Set(['json']);

/** The columns of an entity that a rule may stand on: fields, and ids of belongsTo relations. */
export function listRuleColumns(entity: EntityDocument): readonly string[] {
  const fields = [...entity.fields.values()].filter(({ type }) => !NOT_COLUMNS.has(type)).map(({ name }) => name);
  const keys = [...entity.relations.values()].flatMap(({ column }) => column ?? []);
  return [...keys, ...fields];
}

/** Records of an entity that a user sees: the total, and the first ones. */
export interface VisibleRecords {
  readonly total: number;
  readonly records: readonly { readonly [name: string]: Json }[];
}

export type VisibilityChange = 'stays' | 'appears' | 'disappears';

const readId = (record: { readonly [name: string]: Json }): string => stringifyExact(record.id);

/** Ids of the first records of one side that are not among those of the other: they have to be asked for. */
export const findUnmatchedIds = (side: VisibleRecords, other: VisibleRecords): readonly string[] => {
  const there = new Set(other.records.map(readId));
  return side.records.map(readId).filter((id) => !there.has(id));
};

/** Change of each visible record. `stillSeen`: unmatched ids that the other side sees as well. */
export function compareVisibility(
  side: VisibleRecords,
  other: VisibleRecords,
  stillSeen: ReadonlySet<string>,
  fate: VisibilityChange,
): ReadonlyMap<string, VisibilityChange> {
  const lost = new Set(findUnmatchedIds(side, other).filter((id) => !stillSeen.has(id)));
  return new Map(side.records.map(readId).map((id) => [id, lost.has(id) ? fate : 'stays']));
}

/** A case of a file of `wda access test`. */
export interface AccessCase {
  readonly name: string;
  readonly claims: Claims;
  readonly entity: string;
  readonly ids: readonly string[];
  /** Whether these are all that is seen. */
  readonly isAll: boolean;
}

// JSON is YAML 1.2: names and values are quoted, so that `no`, `1e3` and `: ` stay what they are.
const quote = (text: string): string => JSON.stringify(text);

/** The file, in YAML. */
export function printTestCases(cases: readonly AccessCase[]): string {
  const lines = cases.flatMap(({ name, claims, entity, ids, isAll }) => [
    `  - name: ${quote(name)}`,
    `    claims: ${stringifyExact(claims)}`,
    `    ${isAll ? 'only' : 'visible'}: { ${quote(entity)}: [${ids.join(', ')}] }`,
  ]);
  return `cases:\n${lines.join('\n')}\n`;
}

/** The file of `--rules`: entities whose rules are tried. */
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
