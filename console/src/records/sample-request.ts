// Requests of an entity as the API screen starts them: the query and the body of each operation, from the schema. Pure.

import { Digits, prettyExact } from '../api/json.ts';
import type { EntityDocument } from '../api/schema.ts';
import { listColumns, type RecordColumn } from './fields.ts';
import { makeSampleValue } from './sample-value.ts';

export interface SampleRequest {
  /** Query string, without `?`. */
  readonly query: string;
  /** Indented JSON, or undefined for an operation without a body. */
  readonly body?: string;
}

const EVENT = 'e_VUPnHG-qFMXiW1_nIHJlGg';
const ID = new Digits('1');

/** Returns the request of an operation of `listEndpoints()`. */
export function makeSampleRequest(operation: string, entity: EntityDocument): SampleRequest {
  const own = listColumns(entity).filter(({ isReadOnly }) => !isReadOnly);
  const required = own.filter(({ isRequired, field }) => isRequired && field?.default === undefined);
  const record = toRecord(required.length === 0 ? own.slice(0, 4) : required);
  const change = toRecord(own.slice(0, 1));
  const [first] = own;
  const filter = first === undefined ? { all: true } : { field: first.name, op: 'eq', value: makeSampleValue(first) };
  const body = (value: object): SampleRequest => ({ query: '', body: prettyExact(value) });
  switch (operation) {
    case 'create':
      return body(record);
    case 'update':
      return body(change);
    case 'query':
      return body({ filter, sort: ['id'], size: 20 });
    case 'bulkCreate':
      return body({ data: [record, record] });
    case 'bulkUpdate':
      return body({ data: [{ id: ID, ...change }] });
    case 'bulkDeleteListed':
      return body({ ids: [ID] });
    case 'updateWhere':
      return { ...body({ filter, set: change }), query: 'dryRun=true' };
    case 'deleteWhere':
      return { ...body({ filter }), query: 'dryRun=true' };
    case 'restore':
      return body({ event: EVENT });
    case 'aggregate':
      return { query: 'select=count' };
    case 'export':
      return { query: 'format=ndjson' };
    default:
      return { query: '' };
  }
}

const toRecord = (columns: readonly RecordColumn[]): object =>
  Object.fromEntries(columns.map((column) => [column.name, makeSampleValue(column)]));
