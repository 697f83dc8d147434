// Rows of a file -> staged values of an ImportPlan, or every mistake in them. Takes the cells of a CSV row or the JSON
// value of a line; returns the text of each staged column, with the row rules' columns set from the claims.
import { type Detail, shorten } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { type Decoded, EXPANDS_TOO_MUCH } from '../model/field-types.ts';
import { MAX_EXPANDED_BYTES } from '../model/json-digits.ts';
import type { ImportRequest } from '../request/import-request.ts';
import { isWritable, makeRequiredDetail } from './assignment.ts';
import {
  type CsvImport,
  type ImportCase,
  type ImportPlan,
  readOnlyReason,
  requiredFields,
  unknownFieldMessage,
} from './import-plan.ts';
import { decodeCell, decodeMember } from './import-value.ts';
import type { PlanContext } from './link.ts';
import { applyRowRules, getRuleColumns } from './row-policy.ts';
import { makeUnknownNameFormatter, type UnknownNameFormatter } from './unknown-name.ts';

/** Text of each staged column, null for null; for a sparse plan followed by the bits of the given columns. */
export type StagedRow = readonly (string | null)[];

/** Collects a mistake; returns false when it wants no more. */
export type RowReport = (detail: Detail) => boolean;

/** Decodes a row, or reports its mistakes and returns undefined. Throws 403 for a row of another user. */
export type RowDecoder<T> = (source: T, row: number, report: RowReport) => StagedRow | undefined;

export function makeCellDecoder(
  { plan, cells }: CsvImport,
  entity: Entity,
  context: PlanContext,
): RowDecoder<readonly string[]> {
  const indexes = cells.map((field) => (field === undefined ? -1 : plan.columns.indexOf(field)));
  const provided = plan.columns.map((field) => cells.includes(field));
  const applyRules = makeRuleApplier(plan, entity, context);
  return (source, row, report) => {
    if (source.length !== cells.length) {
      const message = `has ${source.length} cells where the header has ${cells.length}`;
      report({ row, field: null, code: 'INVALID', message });
      return undefined;
    }
    const values: (string | null)[] = new Array(plan.columns.length).fill(null);
    let isValid = true;
    let expandedBytes = 0;
    for (let index = 0; index < cells.length; index++) {
      const field = cells[index];
      if (field === undefined) continue;
      const text = source[index] as string;
      if (text === '') {
        if (!isWritable(field) || !field.required) continue;
        isValid = false;
        if (!report({ row, ...makeRequiredDetail(field.name) })) break;
        continue;
      }
      const decoded = decodeCell(field, text);
      if (decoded.ok) {
        values[indexes[index] as number] = decoded.value;
        expandedBytes += decoded.expandedBytes ?? 0;
      } else {
        isValid = false;
        if (!report(toDetail(row, field, decoded))) break;
      }
    }
    if (expandedBytes > MAX_EXPANDED_BYTES) {
      report({ row, field: null, code: 'OUT_OF_RANGE', message: EXPANDS_TOO_MUCH });
      return undefined;
    }
    if (!isValid) return undefined;
    applyRules?.(values, [...provided]);
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
  const idIndex = plan.columns.findIndex((field) => field.role === 'id');
  const keyIndexes = (plan.matchOn ?? []).map(({ name }) => indexes.get(name) as number);
  const ruleColumns = getRuleColumns(entity, context.principal);
  const required = requiredFields(entity, context);
  const applyRules = makeRuleApplier(plan, entity, context);
  const formatUnknownName = makeUnknownNameFormatter();
  return (source, row, report) => {
    if (typeof source !== 'object' || source === null || Array.isArray(source) || numberText(source) !== undefined) {
      report({ row, field: null, code: 'TYPE_MISMATCH', message: 'must be one JSON object' });
      return undefined;
    }
    const values: (string | null)[] = new Array(plan.columns.length).fill(null);
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
      if (name === null || name === undefined) continue;
      const index = indexes.get(name);
      const field = plan.columns[index ?? -1];
      if (index === undefined || field === undefined)
        reject(notImported(member, name, { request, entity, context }, formatUnknownName));
      else if (provided[index])
        reject({ field: shorten(member), code: 'INVALID', message: `gives the field ${name} a second time` });
      else {
        provided[index] = true;
        if (value === null) {
          if (isWritable(field) && field.required) reject(makeRequiredDetail(field.name));
          continue;
        }
        const decoded = decodeMember(field, value);
        if (decoded.ok) {
          values[index] = decoded.value;
          expandedBytes += decoded.expandedBytes ?? 0;
        } else reject(toDetail(row, field, decoded));
      }
    }
    if (expandedBytes > MAX_EXPANDED_BYTES) reject({ field: null, code: 'OUT_OF_RANGE', message: EXPANDS_TOO_MUCH });
    for (const index of keyIndexes) {
      const { name } = plan.columns[index] as Field;
      if (!provided[index] && !ruleColumns.has(name))
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
    let bits = '';
    for (const bit of provided) bits += bit ? '1' : '0';
    values.push(bits);
    return values;
  };
}

function notImported(
  member: string,
  name: string,
  { request, entity, context }: ImportCase,
  formatUnknownName: UnknownNameFormatter,
): Detail {
  const field = entity.fields.get(name);
  return field === undefined
    ? { field: shorten(member), code: 'UNKNOWN_FIELD', message: unknownFieldMessage(name, entity, formatUnknownName) }
    : {
        field: shorten(member),
        code: 'READ_ONLY',
        message: readOnlyReason(field, request, context) ?? 'is set by the server',
      };
}

function toDetail(row: number, field: Field, decoded: Extract<Decoded, { ok: false }>): Detail {
  return { row, field: field.name, code: decoded.code, message: decoded.message };
}

/** Returns a function that sets the columns of the row rules, as creates do, or undefined if none apply. */
function makeRuleApplier(plan: ImportPlan, entity: Entity, context: PlanContext) {
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
