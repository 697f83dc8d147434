// Rows of a file -> staged values of an ImportPlan, or every mistake in them. Takes the cells of a CSV row or the JSON
// value of a line; returns the text of each staged column, with the row rules' columns set from the claims.

import { type Detail, shorten } from '../errors.ts';
import { parseDate } from '../model/date-time.ts';
import type { Entity, Field } from '../model/entity.ts';
import { type Decoded, decodeValue, fieldType, parseStored } from '../model/field-types.ts';
import { getRequiredFields } from '../model/writable.ts';
import type { CellFormat, CellFormats } from '../request/cell-formats.ts';
import type { ImportRequest } from '../request/import-request.ts';
import { isRecord } from '../request/members.ts';
import { checkId, decodeColumn, EXPANSION_DETAIL, expandsTooMuch, makeRequiredDetail } from './assignment.ts';
import { type GrantedEntity, getOptionalNames, isGranted, planAllowed } from './granted.ts';
import { REJECT_COLUMNS, resolveTarget, type Target } from './import-columns.ts';
import {
  type CsvImport,
  type ImportCase,
  type ImportPlan,
  makeUnknownFieldFormatter,
  narrowPlan,
  readOnlyReason,
} from './import-plan.ts';
import type { PlanContext } from './link.ts';
import { applyRowRules, checkRowRules, getRuleColumns } from './row-rules.ts';

/**
 * Text of each staged column and look-up, null for null; for a sparse plan followed by the bits of the given columns.
 */
export type StagedRow = readonly (string | null)[];

/** Collects a mistake; returns false when it wants no more. */
export type RowReport = (detail: Detail) => boolean;

/** Decodes a row, or reports its mistakes and returns undefined. Throws 403 for a row of another user. */
export type RowDecoder<T> = (source: T, row: number, report: RowReport) => StagedRow | undefined;

export function makeCellDecoder(
  { plan, cells }: CsvImport,
  { formats }: Pick<ImportRequest, 'formats'>,
  entity: Entity,
  context: PlanContext,
): RowDecoder<readonly string[]> {
  const indexes = cells.map((target) => (target === undefined ? -1 : getStagedIndex(plan, target)));
  const provided = plan.columns.map((column) => cells.some((target) => target?.field === column));
  const width = plan.columns.length + plan.lookups.length;
  const bits = formatBits(provided);
  const applyRules = makeRuleApplier(plan, entity, context);
  const readable = getReadable(entity, context);
  return (source, row, report) => {
    if (source.length !== cells.length) {
      const message = formatCellCount(source.length, cells.length);
      report({ row, field: null, code: 'INVALID', message, ...toShownValue(source.slice(cells.length).join()) });
      return undefined;
    }
    const values: (string | null)[] = new Array(width).fill(null);
    let isValid = true;
    let expandedBytes = 0;
    for (let index = 0; index < cells.length; index++) {
      const target = cells[index];
      if (target === undefined) continue;
      const text = source[index] as string;
      const field = target.lookup?.field ?? target.field;
      const value = readCell(field, text);
      const column = decodeColumn(target.field, value, (_, cell) => decodeCell(field, cell, formats));
      if (column.ok) {
        values[indexes[index] as number] = column.value;
        expandedBytes += column.expandedBytes ?? 0;
      } else {
        isValid = false;
        if (!report({ row, ...column.detail, ...toShownValue(value, target.field, readable) })) break;
      }
    }
    if (expandsTooMuch(expandedBytes)) {
      report({ row, ...EXPANSION_DETAIL });
      return undefined;
    }
    if (!isValid) return undefined;
    applyRules?.(values, [...provided]);
    if (plan.sparse) values.push(bits);
    return values;
  };
}

export function makeMemberDecoder(
  plan: ImportPlan,
  request: ImportRequest,
  entity: Entity,
  context: PlanContext,
): RowDecoder<unknown> {
  const indexes = new Map(plan.columns.map((field, index) => [field.name, index]));
  const lookups = new Map(
    [...request.map.values()].flatMap((name) => {
      const target = name === null ? undefined : resolveTarget(name, entity, context);
      return target?.lookup === undefined ? [] : [[name, target] as const];
    }),
  );
  const idIndex = plan.columns.findIndex((field) => field.role === 'id');
  const keyIndexes = (plan.matchOn ?? []).map(({ name }) => indexes.get(name) as number);
  const optional = getOptionalNames(entity, context.principal);
  const required = getRequiredFields(entity, optional);
  const applyRules = makeRuleApplier(plan, entity, context);
  const formatUnknownField = makeUnknownFieldFormatter(entity, context);
  const readable = getReadable(entity, context);
  return (source, row, report) => {
    if (!isRecord(source)) {
      report({ row, field: null, code: 'TYPE_MISMATCH', message: 'must be one JSON object' });
      return undefined;
    }
    const values: (string | null)[] = new Array(plan.columns.length + plan.lookups.length).fill(null);
    const provided: boolean[] = new Array(plan.columns.length).fill(false);
    let isValid = true;
    let mayContinue = true;
    let expandedBytes = 0;
    const reject = (detail: Detail): void => {
      mayContinue = report({ row, ...detail });
      isValid = false;
    };
    for (const [member, value] of Object.entries(source)) {
      if (!mayContinue) return undefined;
      const name = request.map.has(member) ? request.map.get(member) : member;
      if (name === null || name === undefined || REJECT_COLUMNS.includes(name)) continue;
      const target = lookups.get(name);
      const index = indexes.get(target?.field.name ?? name);
      const field = plan.columns[index ?? -1];
      if (index === undefined || field === undefined)
        reject(notImported(member, name, { request, entity, context }, formatUnknownField));
      else if (provided[index])
        reject({ field: shorten(member), code: 'INVALID', message: `gives the field ${field.name} a second time` });
      else {
        provided[index] = true;
        const decodedField = target?.lookup?.field ?? field;
        const column = decodeColumn(field, value, (_, member) => decodeMember(decodedField, member));
        if (column.ok) {
          values[target === undefined ? index : getStagedIndex(plan, target)] = column.value;
          expandedBytes += column.expandedBytes ?? 0;
        } else reject({ ...column.detail, ...toShownValue(value, field, readable) });
      }
    }
    if (expandsTooMuch(expandedBytes)) reject(EXPANSION_DETAIL);
    for (const index of keyIndexes) {
      const { name } = plan.columns[index] as Field;
      if (!provided[index] && !optional.has(name))
        reject({ ...makeRequiredDetail(name), message: 'is required by conflictOn' });
    }
    // Only the table shows whether a row with an id, or a key, creates a record.
    const isLater = request.onConflict === 'update' && (keyIndexes.length > 0 || (values[idIndex] ?? null) !== null);
    if (!isLater) {
      for (const field of required)
        if (provided[indexes.get(field.name) as number] !== true) reject(makeRequiredDetail(field.name));
    }
    if (!isValid) return undefined;
    applyRules?.(values, provided);
    values.push(formatBits(provided));
    return values;
  };
}

/** Rows that all give the same columns. */
export interface DenseRows<T> {
  /** Returns the plan with these columns alone. */
  readonly narrow: (plan: ImportPlan) => ImportPlan;
  /** Decodes a row; reports a mistake for one that gives other columns. */
  readonly decode: RowDecoder<T>;
}

/** Returns the rows that give the same columns as the first one, or undefined if that has a mistake. */
export function makeDenseRows<T>(decode: RowDecoder<T>, first: T): DenseRows<T> | undefined {
  const bits = decode(first, 1, () => false)?.at(-1);
  if (bits === undefined || bits === null) return undefined;
  const isProvided = (_: unknown, index: number): boolean => bits[index] === '1';
  return {
    narrow: (plan) => narrowPlan(plan, plan.columns.filter(isProvided)),
    decode(source, row, report) {
      const values = decode(source, row, report);
      if (values === undefined || values.at(-1) === bits) return values?.filter(isProvided);
      report({ row, field: null, code: 'INVALID', message: 'gives other fields than the first row' });
      return undefined;
    },
  };
}

function formatBits(provided: readonly boolean[]): string {
  let bits = '';
  for (const bit of provided) bits += bit ? '1' : '0';
  return bits;
}

/** Formats the mistake of a row with a wrong number of cells. */
export const formatCellCount = (count: number, headerCount: number): string =>
  `has ${count} cell${count === 1 ? '' : 's'} where the header has ${headerCount}`;

/** Returns the place of the target's text in a staged row. */
function getStagedIndex({ columns, lookups }: ImportPlan, { field, lookup }: Target): number {
  if (lookup === undefined) return columns.indexOf(field);
  return columns.length + lookups.findIndex(({ column }) => column === field);
}

function notImported(
  member: string,
  name: string,
  { request, entity, context }: ImportCase,
  formatUnknownField: (name: string) => string,
): Detail {
  const field = entity.fields.get(name);
  return field === undefined
    ? { field: shorten(member), code: 'UNKNOWN_FIELD', message: formatUnknownField(name) }
    : {
        field: shorten(member),
        code: 'READ_ONLY',
        message: readOnlyReason(field, request, context) ?? 'is set by the server',
      };
}

/** Returns a function that sets the columns of the row rules, as creates do, or undefined if none apply. */
function makeRuleApplier(plan: ImportPlan, entity: Entity, context: PlanContext) {
  if (isGranted(entity)) return makeStampedKey(plan, entity, context);
  const ruleColumns = getRuleColumns(entity, context.principal);
  const indexes = [...ruleColumns].map(
    (name) => [name, plan.columns.findIndex((field) => field.name === name)] as const,
  );
  if (indexes.length === 0) return undefined;
  return (values: (string | null)[], provided: boolean[]): void => {
    const row = new Map<string, string | null>();
    for (const [name, index] of indexes) if (provided[index]) row.set(name, values[index] ?? null);
    const result = applyRowRules(entity, context.principal, row);
    for (const [name, index] of indexes) {
      values[index] = result.get(name) ?? null;
      provided[index] = true;
    }
  };
}

/**
 * Returns a function that checks the columns of the row rules, and sets fields of conflictOn that grants or row rules
 * set, so that they find records; the write sets them in new ones.
 */
function makeStampedKey({ columns, matchOn = [] }: ImportPlan, entity: GrantedEntity, { principal }: PlanContext) {
  const keyIndexes = matchOn.map((field) => columns.indexOf(field));
  return (values: (string | null)[], provided: readonly boolean[]): void => {
    const row = new Map<string, string | null>();
    for (const [index, { name }] of columns.entries()) if (provided[index]) row.set(name, values[index] ?? null);
    checkRowRules(entity, principal, row);
    if (keyIndexes.every((index) => provided[index])) return;
    const newRecord = planAllowed(row, entity, principal)[0]?.values;
    for (const index of keyIndexes)
      if (!provided[index]) values[index] = newRecord?.get((columns[index] as Field).name) ?? null;
  };
}

const SHOWN_CHARACTERS = 100;

/** Returns the fields that the user may read, of an entity with those that it may write. */
export const getReadable = ({ name, fields }: Entity, { workspace }: PlanContext): Entity['fields'] =>
  workspace.entities.get(name)?.fields ?? fields;

/** Returns the member `value` of a mistake; none for an empty cell, for null, and in a field that the user may not read. */
function toShownValue(value: unknown, field?: Field, readable?: Entity['fields']): Pick<Detail, 'value'> {
  if (value === '' || value === null || (field !== undefined && readable?.has(field.name) === false)) return {};
  return { value: shorten(typeof value === 'string' ? value : JSON.stringify(value), SHOWN_CHARACTERS) };
}

/** Reads a CSV cell: null for an empty one, and for JSON's null. */
const readCell = (field: Field, text: string): string | null =>
  text === '' || (field.type === 'json' && text.trim() === 'null') ? null : text;

/**
 * Decodes a CSV cell that is not empty. Files have more forms than bodies: the `cell` of a type reads the texts, or the
 * format that the request has for them.
 */
export function decodeCell(field: Field, text: string, formats?: CellFormats): Decoded {
  const format = formats === undefined ? undefined : getFormat(field, formats);
  const plain = format === undefined ? text : format.read(text);
  if (plain === undefined) return mismatch(field, format as CellFormat);
  if (format !== undefined && field.type === 'date' && parseDate(plain) === undefined)
    return { ok: false, code: 'INVALID', message: `must be a day of the calendar, of the form ${format.text}` };
  const decoded = parseStored(field, plain);
  return field.role === 'id' ? checkId(decoded) : decoded;
}

function getFormat({ type }: Field, formats: CellFormats): CellFormat | undefined {
  if (type === 'date' || type === 'boolean') return formats[type];
  return fieldType(type).json === 'number' ? formats.decimal : undefined;
}

function mismatch({ type }: Field, { text }: CellFormat): Decoded {
  if (type === 'date') return { ok: false, code: 'INVALID', message: `must be a date of the form ${text}` };
  const form = type === 'boolean' ? text.replace('/', ' or ') : `a number of the form ${text}`;
  return { ok: false, code: 'TYPE_MISMATCH', message: `must be ${form}` };
}

/** Decodes the value of a member of an NDJSON line, not null. */
export function decodeMember(field: Field, value: unknown): Decoded {
  if (typeof value === 'string' && fieldType(field.type).json === 'string') return decodeCell(field, value);
  const decoded = decodeValue(field, value);
  return field.role === 'id' ? checkId(decoded) : decoded;
}
