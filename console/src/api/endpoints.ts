// Endpoints of an entity, by the operation names in the index of the workspace. Pure.

export interface Endpoint {
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path below the entity. */
  readonly rest: string;
  readonly description: string;
}

const ENDPOINTS: readonly Endpoint[] = [
  { operation: 'list', method: 'GET', rest: '', description: 'A page of records: filter, sort, expand, fields' },
  { operation: 'query', method: 'POST', rest: '/_query', description: 'The same with a body' },
  { operation: 'read', method: 'GET', rest: '/{id}', description: 'One record, with its ETag' },
  { operation: 'create', method: 'POST', rest: '', description: 'A new record, or an upsert with onConflict' },
  { operation: 'update', method: 'PATCH', rest: '/{id}', description: 'Changes the fields that are given' },
  { operation: 'delete', method: 'DELETE', rest: '/{id}', description: 'Deletes a record' },
  { operation: 'aggregate', method: 'GET', rest: '/_aggregate', description: 'Counts and sums, by group' },
  { operation: 'bulkCreate', method: 'POST', rest: '/_bulk', description: 'Up to 1,000 new records, all or none' },
  { operation: 'bulkUpdate', method: 'PATCH', rest: '/_bulk', description: 'Changes of up to 1,000 records' },
  {
    operation: 'bulkDeleteListed',
    method: 'POST',
    rest: '/_bulk/delete',
    description: 'Deletes the records that are listed',
  },
  {
    operation: 'updateWhere',
    method: 'POST',
    rest: '/_update',
    description: 'Changes all records that match a filter',
  },
  {
    operation: 'deleteWhere',
    method: 'POST',
    rest: '/_delete',
    description: 'Deletes all records that match a filter',
  },
  { operation: 'import', method: 'POST', rest: '/_import', description: 'A file of CSV or NDJSON' },
  { operation: 'export', method: 'GET', rest: '/_export', description: 'All records as CSV or NDJSON' },
  { operation: 'history', method: 'GET', rest: '/{id}/_history', description: 'What happened to one record' },
  { operation: 'historyEntry', method: 'GET', rest: '/{id}/_history/{event}', description: 'The record as it was' },
  { operation: 'restore', method: 'POST', rest: '/{id}/_restore', description: 'Writes a record as it was' },
  { operation: 'forget', method: 'DELETE', rest: '/{id}/_history', description: 'Removes its values from the history' },
  { operation: 'changes', method: 'GET', rest: '/_changes', description: 'What happened to records, in order' },
];

/** Lists the endpoints that the credential may use. */
export const listEndpoints = (operations: readonly string[]): readonly Endpoint[] =>
  ENDPOINTS.filter(({ operation }) => operations.includes(operation));
