import { Button, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { screenPath } from '../../api/workspace.ts';
import { recordPath } from '../../records/cell-value.tsx';
import type { EntityPlace } from '../../records/requests.ts';

export interface EmptyProps {
  readonly isNarrowed: boolean;
  readonly mayWrite: boolean;
  readonly at: EntityPlace;
  readonly onClear: () => void;
}

/** In place of a grid without records. */
export function Empty({ isNarrowed, mayWrite, at, onClear }: EmptyProps) {
  if (isNarrowed)
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
        <Button variant="default" component={Link} to={screenPath(at, `/data/${at.entity}/import`)}>
          Import a file
        </Button>
      )}
      {mayWrite && (
        <Button component={Link} to={recordPath(at, at.entity, 'new')}>
          New record
        </Button>
      )}
    </div>
  );
}
