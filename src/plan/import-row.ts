// Rows of a file -> staged values of an ImportPlan, or every mistake in them. Takes the cells of a CSV row or the JSON
// value of a line; gives the text of each staged column, the row rules' columns set from the claims.
import { type Detail, shown } from '../errors.ts';
import type { Entity, Field } from '../model/entity.ts';
import { numberText } from '../model/exact-json.ts';
import { type Decoded, TOO_MUCH_GROWTH } from '../model/field-types.ts';
import { MAX_GROWTH } from '../model/json-digits.ts';
import type { ImportRequest } from '../request/import-request.ts';
import { isWritable, missing } from './assignment.ts';
import {
  type CsvImport,
  type ImportCase,
  type ImportPlan,
  readOnlyReason,
  requiredFields,
  unknownFieldMessage,
} from './import-plan.ts';
import { decodeCell, decodeMember } from './import-value.ts';
import type { Viewpoint } from './link.ts';
import { makeNaming, type Naming } from './naming.ts';
import { stampedColumns, stampRow } from './row-policy.ts';

/** Text of each staged column, null for null; for a sparse plan followed by the bits that say which columns are given. */
export type StagedRow = readonly (string | null)[];

/** Takes a mistake; false when it wants no more. */
export type RowReport = (detail: Detail) => boolean;

/** undefined when the row has mistakes, which were reported. Throws 403 for a row of somebody else. */
export type RowDecoder<T> = (source: T, row: number, report: RowReport) => StagedRow | undefined;

export function makeCellDecoder(
  { plan, cells }: CsvImport,
  entity: Entity,
  viewpoint: Viewpoint,
): RowDecoder<readonly string[]> {
  const places = cells.map((field) => (field === undefined ? -1 : plan.columns.indexOf(field)));
  const given = plan.columns.map((field) => cells.includes(field));
  const stamp = makeStamp(plan, entity, viewpoint);
  return (source, row, report) => {
    if (source.length !== cells.length) {
      const message = `has ${source.length} cells where the header has ${cells.length}`;
      report({ row, field: null, code: 'INVALID', message });
      return undefined;
    }
    const values: (string | null)[] = new Array(plan.columns.length).fill(null);
    let isWhole = true;
    let growth = 0;
    for (let index = 0; index < cells.length; index++) {
      const field = cells[index];
      if (field === undefined) continue;
      const text = source[index] as string;
      if (text === '') {
        if (!isWritable(field) || !field.required) continue;
        isWhole = false;
        if (!report({ row, ...missing(field.name) })) break;
        continue;
      }
      const decoded = decodeCell(field, text);
      if (decoded.ok) {
        values[places[index] as number] = decoded.value;
        growth += decoded.growth ?? 0;
      } else {
        isWhole = false;
        if (!report(detailOf(row, field, decoded))) break;
      }
    }
    if (growth > MAX_GROWTH) {
      report({ row, field: null, code: 'OUT_OF_RANGE', message: TOO_MUCH_GROWTH });
      return undefined;
    }
    if (!isWhole) return undefined;
    stamp?.(values, [...given]);
    return values;
  };
}

export function makeMemberDecoder(
  plan: ImportPlan,
  request: ImportRequest,
  entity: Entity,
  viewpoint: Viewpoint,
): RowDecoder<unknown> {
  const places = new Map(plan.columns.map((field, place) => [field.name, place]));
  const idPlace = plan.columns.findIndex((field) => field.role === 'id');
  const keyPlaces = (plan.matchOn ?? []).map(({ name }) => places.get(name) as number);
  const stamped = stampedColumns(entity, viewpoint.principal);
  const required = requiredFields(entity, viewpoint);
  const stamp = makeStamp(plan, entity, viewpoint);
  const naming = makeNaming();
  return (source, row, report) => {
    if (typeof source !== 'object' || source === null || Array.isArray(source) || numberText(source) !== undefined) {
      report({ row, field: null, code: 'TYPE_MISMATCH', message: 'must be one JSON object' });
      return undefined;
    }
    const values: (string | null)[] = new Array(plan.columns.length).fill(null);
    const given: boolean[] = new Array(plan.columns.length).fill(false);
    let isWhole = true;
    let isWanted = true;
    let growth = 0;
    const refuse = (detail: Detail): void => {
      isWanted = report({ row, ...detail });
      isWhole = false;
    };
    for (const [member, value] of Object.entries(source)) {
      if (!isWanted) return undefined;
      const name = request.map.has(member) ? request.map.get(member) : member;
      if (name === null || name === undefined) continue;
      const place = places.get(name);
      const field = plan.columns[place ?? -1];
      if (place === undefined || field === undefined)
        refuse(notImported(member, name, { request, entity, viewpoint }, naming));
      else if (given[place])
        refuse({ field: shown(member), code: 'INVALID', message: `gives the field ${name} a second time` });
      else {
        given[place] = true;
        if (value === null) {
          if (isWritable(field) && field.required) refuse(missing(field.name));
          continue;
        }
        const decoded = decodeMember(field, value);
        if (decoded.ok) {
          values[place] = decoded.value;
          growth += decoded.growth ?? 0;
        } else refuse(detailOf(row, field, decoded));
      }
    }
    if (growth > MAX_GROWTH) refuse({ field: null, code: 'OUT_OF_RANGE', message: TOO_MUCH_GROWTH });
    for (const place of keyPlaces) {
      const { name } = plan.columns[place] as Field;
      if (!given[place] && !stamped.has(name)) refuse({ ...missing(name), message: 'is required by conflictOn' });
    }
    // Whether a row with an id, or a key, creates a record shows only beside the table.
    const isLater = request.onConflict === 'update' && (keyPlaces.length > 0 || (values[idPlace] ?? null) !== null);
    if (!isLater) {
      for (const field of required) if (given[places.get(field.name) as number] !== true) refuse(missing(field.name));
    }
    if (!isWhole) return undefined;
    stamp?.(values, given);
    let bits = '';
    for (const bit of given) bits += bit ? '1' : '0';
    values.push(bits);
    return values;
  };
}

function notImported(member: string, name: string, { request, entity, viewpoint }: ImportCase, naming: Naming): Detail {
  const field = entity.fields.get(name);
  return field === undefined
    ? { field: shown(member), code: 'UNKNOWN_FIELD', message: unknownFieldMessage(name, entity, naming) }
    : {
        field: shown(member),
        code: 'READ_ONLY',
        message: readOnlyReason(field, request, viewpoint) ?? 'is set by the server',
      };
}

function detailOf(row: number, field: Field, decoded: Extract<Decoded, { ok: false }>): Detail {
  return { row, field: field.name, code: decoded.code, message: decoded.message };
}

/** Sets the columns of the row rules in place, as every create does; undefined when there are none for the principal. */
function makeStamp(plan: ImportPlan, entity: Entity, viewpoint: Viewpoint) {
  const stamped = stampedColumns(entity, viewpoint.principal);
  const places = [...stamped].map((name) => [name, plan.columns.findIndex((field) => field.name === name)] as const);
  if (places.length === 0) return undefined;
  return (values: (string | null)[], given: boolean[]): void => {
    const row = new Map<string, string | null>();
    for (const [name, place] of places) if (given[place]) row.set(name, values[place] ?? null);
    const result = stampRow(entity, viewpoint.principal, row);
    for (const [name, place] of places) {
      values[place] = result.get(name) ?? null;
      given[place] = true;
    }
  };
}
