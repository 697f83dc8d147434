// The end of a record: says first what refers to it, and is refused when somebody changed it meanwhile.
import { Anchor, Button, Group, List, Modal, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ask, askExact } from '../../api/ask.ts';
import { isRefusal } from '../../api/refusal.ts';
import { type EntityDocument, schemaQuery } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import { count } from '../../format/amount.ts';
import { keyOf } from '../../records/fields.ts';
import { type EntityPlace, entityPath } from '../../records/requests.ts';
import type { RecordValue } from '../../records/value.ts';
import { Refused } from '../../shell/refused.tsx';
import { say } from '../../shell/said.tsx';

export interface DeleteDialogProps {
  readonly at: EntityPlace;
  readonly entity: EntityDocument;
  readonly id: string;
  readonly version: string;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** An entity whose records hold the id of this one. */
interface Referrer {
  readonly entity: string;
  readonly column: string;
}

export function DeleteDialog({ at, entity, id, version, onClose, onDeleted }: DeleteDialogProps) {
  const { data: schema } = useQuery(schemaQuery(at));
  const client = useQueryClient();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const referrers = [...(schema?.entities.values() ?? [])].flatMap((other): Referrer[] =>
    [...other.relations.values()]
      .filter((relation) => relation.kind === 'belongsTo' && relation.entity === entity.name)
      .map((relation) => ({ entity: other.name, column: keyOf(relation) })),
  );
  async function remove(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      await ask({ method: 'DELETE', path: entityPath(at, `/${id}`), headers: { 'If-Match': `"${version}"` } });
      say(`${entity.name} ${id} deleted`);
      await client.invalidateQueries({ queryKey: ['record', at.org, at.ws, at.entity] });
      onDeleted();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  const isChanged = isRefusal(error) && error.status === 412;
  return (
    <Modal opened onClose={onClose} title={`Delete ${entity.name} ${id}?`} closeButtonProps={{ 'aria-label': 'Close' }}>
      {referrers.length > 0 && (
        <>
          <Text size="sm">Records that refer to it:</Text>
          <List size="sm" my="xs">
            {referrers.map((one) => (
              <ReferringLine key={`${one.entity}.${one.column}`} at={at} id={id} {...one} />
            ))}
          </List>
        </>
      )}
      {isChanged && <Text size="sm">Record changed meanwhile. Close this, look at it again, and delete it then.</Text>}
      <Refused error={error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={isBusy} disabled={isChanged} onClick={() => void remove()}>
          Delete
        </Button>
      </Group>
    </Modal>
  );
}

interface ReferringLineProps extends Referrer {
  readonly at: EntityPlace;
  readonly id: string;
}

function ReferringLine({ at, id, entity, column }: ReferringLineProps) {
  const filter = `${column},eq,${id}`;
  const { data } = useQuery({
    queryKey: ['referring', at.org, at.ws, entity, filter],
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const path = entityPath({ ...at, entity }, `?filter=${encodeURIComponent(filter)}&size=1&fields=id&expand=`);
      return Number((await askExact<readonly RecordValue[]>({ path, signal })).meta.totalElements);
    },
  });
  return (
    <List.Item>
      <Anchor component={Link} size="sm" to={screenPath(at, `/data/${entity}`)} search={{ filter } as never}>
        {`${data === undefined ? '…' : count(data)} ${entity}`}
      </Anchor>{' '}
      by {column}
    </List.Item>
  );
}
