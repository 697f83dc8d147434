// The operations of an entity as requests, with the names that they have in the index of the workspace. Pure.

export interface Endpoint {
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the entity. */
  readonly rest: string;
  readonly does: string;
}

const ENDPOINTS: readonly Endpoint[] = [
  { operation: 'list', method: 'GET', rest: '', does: 'A page of records: filter, sort, expand, fields' },
  { operation: 'query', method: 'POST', rest: '/_query', does: 'The same with a body' },
  { operation: 'read', method: 'GET', rest: '/{id}', does: 'One record, with its ETag' },
  { operation: 'create', method: 'POST', rest: '', does: 'A new record, or an upsert with onConflict' },
  { operation: 'update', method: 'PATCH', rest: '/{id}', does: 'Changes the fields that are given' },
  { operation: 'delete', method: 'DELETE', rest: '/{id}', does: 'Deletes a record' },
  { operation: 'aggregate', method: 'GET', rest: '/_aggregate', does: 'Counts and sums, by group' },
  { operation: 'bulkCreate', method: 'POST', rest: '/_bulk', does: 'Up to 1,000 new records, all or none' },
  { operation: 'bulkUpdate', method: 'PATCH', rest: '/_bulk', does: 'Changes of up to 1,000 records' },
  { operation: 'bulkDeleteListed', method: 'POST', rest: '/_bulk/delete', does: 'Deletes the records that are listed' },
  { operation: 'import', method: 'POST', rest: '/_import', does: 'A file of CSV or NDJSON' },
  { operation: 'export', method: 'GET', rest: '/_export', does: 'All records as CSV or NDJSON' },
];

/** Those that the credential may use. */
export const endpointsOf = (operations: readonly string[]): readonly Endpoint[] =>
  ENDPOINTS.filter(({ operation }) => operations.includes(operation));
