import { Button, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { screenPath } from '../../api/workspace.ts';
import { recordScreenPath } from '../../records/cell-value.tsx';
import type { EntityRef } from '../../records/requests.ts';

export interface EmptyListProps {
  readonly isFiltered: boolean;
  readonly mayWrite: boolean;
  readonly entityRef: EntityRef;
  readonly onClear: () => void;
}

/** Placeholder for a grid without records. */
export function EmptyList({ isFiltered, mayWrite, entityRef, onClear }: EmptyListProps) {
  if (isFiltered)
    return (
      <div className="records-empty">
        <Text>No record matches</Text>
        <Button variant="default" onClick={onClear}>
          Clear filter
        </Button>
      </div>
    );
  return (
    <div className="records-empty">
      <Text>No records yet</Text>
      {mayWrite && (
        <Button variant="default" component={Link} to={screenPath(entityRef, `/data/${entityRef.entity}/import`)}>
          Import a file
        </Button>
      )}
      {mayWrite && (
        <Button component={Link} to={recordScreenPath(entityRef, entityRef.entity, 'new')}>
          New record
        </Button>
      )}
    </div>
  );
}
