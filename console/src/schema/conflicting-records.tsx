// Count of records that prevent a change, with links to them.
import { Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { filterByIds } from '../api/migration-progress.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { pluralize } from '../format/amount.ts';

export interface ConflictingRecordsProps {
  readonly workspace: WorkspaceRef;
  readonly entity: string;
  readonly number: number;
  /** Ids of the first ten records. */
  readonly ids: readonly number[];
}

export function ConflictingRecords({ workspace, entity, number, ids }: ConflictingRecordsProps) {
  const to = screenPath(workspace, `/data/${entity}`);
  const link = (ids: readonly number[], words: string) => (
    <Anchor component={Link} to={to} search={{ filter: filterByIds(ids) } as never} size="sm">
      {words}
    </Anchor>
  );
  if (ids.length === 0) return <Text size="sm">{pluralize(number, 'record')}</Text>;
  return (
    <Text size="sm" component="span">
      {link(ids, pluralize(number, 'record'))}:{' '}
      {ids.map((id, index) => (
        <span key={id}>
          {index > 0 && ', '}
          {link([id], String(id))}
        </span>
      ))}
      {number > ids.length && ' …'}
    </Text>
  );
}
