// Records that make a change impossible: how many, and links to where they can be mended.
import { Anchor, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { filterOfIds } from '../api/migration-progress.ts';
import { type Place, screenPath } from '../api/workspace.ts';
import { counted } from '../format/amount.ts';

export interface RecordsInTheWayProps {
  readonly place: Place;
  readonly entity: string;
  readonly number: number;
  /** The first ten. */
  readonly ids: readonly number[];
}

export function RecordsInTheWay({ place, entity, number, ids }: RecordsInTheWayProps) {
  const to = screenPath(place, `/data/${entity}`);
  const link = (shown: readonly number[], words: string) => (
    <Anchor component={Link} to={to} search={{ filter: filterOfIds(shown) } as never} size="sm">
      {words}
    </Anchor>
  );
  if (ids.length === 0) return <Text size="sm">{counted(number, 'record')}</Text>;
  return (
    <Text size="sm" component="span">
      {link(ids, counted(number, 'record'))}:{' '}
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
