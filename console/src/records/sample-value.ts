// Sample value of a column, for messages and requests that are shown before there are any. Pure.
import { Digits, type Json } from '../api/json.ts';
import type { RecordColumn } from './fields.ts';
import { listEnumValues } from './value.ts';

export const SAMPLE_TIME = '2026-01-31T12:00:00.000Z';

/** Returns a value that the type of the column accepts. */
export function makeSampleValue({ name, type, field }: RecordColumn): Json {
  switch (type) {
    case 'id':
      return new Digits('42');
    case 'integer':
    case 'bigint':
    case 'relation':
      return new Digits('7');
    case 'decimal':
    case 'float':
      return new Digits('12.5');
    case 'boolean':
      return true;
    case 'date':
      return SAMPLE_TIME.slice(0, 10);
    case 'datetime':
      return SAMPLE_TIME;
    case 'time':
      return '12:00:00';
    case 'uuid':
      return '0190a6e0-5a5a-7c3e-8f3a-1c2d3e4f5a6b';
    case 'json':
      return {};
    case 'enum':
      return listEnumValues(field)[0] ?? null;
    default:
      return name;
  }
}
