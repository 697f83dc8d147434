// Changes that need no statement in PostgreSQL: they are in force with the new document.
import { buildOperation, type Operation, type OperationKind } from '../operation.ts';

export function changeMetadata(kind: OperationKind, entity: string, path: string, description: string): Operation {
  return buildOperation({ kind, entity, path, description });
}

/** Drops a relation without a column: no data is lost, but requests that follow it are refused from then on. */
export function dropVirtualRelation(entity: string, relation: string): Operation {
  return buildOperation({
    kind: 'dropRelation',
    entity,
    path: `entities.${entity}.relations.${relation}`,
    description: `drop relation ${relation} of ${entity}`,
    destructive: true,
  });
}
