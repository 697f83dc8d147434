// The end of a record: says first what refers to it. What somebody else changed meanwhile is compared before it goes.
import { Anchor, Button, Group, List, Modal, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { isApiError } from '../../api/api-error.ts';
import { request, requestExact } from '../../api/request.ts';
import { type EntityDocument, schemaQuery } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import { formatCount } from '../../format/amount.ts';
import { Comparison } from '../../records/comparison.tsx';
import { getKeyColumn, listColumns } from '../../records/fields.ts';
import { type EntityRef, entityPath, fetchRecord, type Versioned } from '../../records/requests.ts';
import { getId, type RecordValue } from '../../records/value.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';

export interface DeleteDialogProps {
  readonly at: EntityRef;
  readonly entity: EntityDocument;
  readonly read: Versioned;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
  /** Somebody else's change is to be shown, and nothing deleted. */
  readonly onTakeTheirs: (theirs: Versioned) => void;
}

/** An entity whose records hold the id of this one. */
interface Referrer {
  readonly entity: string;
  readonly column: string;
}

export function DeleteDialog({ at, entity, read, onClose, onDeleted, onTakeTheirs }: DeleteDialogProps) {
  const id = getId(read.record);
  const { data: schema } = useQuery(schemaQuery(at));
  const client = useQueryClient();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [theirs, setTheirs] = useState<Versioned>();
  const zone = useTimeZone();
  const referrers = [...(schema?.entities.values() ?? [])].flatMap((other): Referrer[] =>
    [...other.relations.values()]
      .filter((relation) => relation.kind === 'belongsTo' && relation.entity === entity.name)
      .map((relation) => ({ entity: other.name, column: getKeyColumn(relation) })),
  );
  async function remove(version: string): Promise<void> {
    setBusy(true);
    setError(undefined);
    setTheirs(undefined);
    try {
      await request({ method: 'DELETE', path: entityPath(at, `/${id}`), headers: { 'If-Match': `"${version}"` } });
      announce(`${entity.name} ${id} deleted`);
      await client.invalidateQueries({ queryKey: ['record', at.org, at.ws, at.entity] });
      onDeleted();
    } catch (thrown) {
      if (!isApiError(thrown, 'PRECONDITION_FAILED')) return setError(thrown);
      await fetchRecord(at, id).then(setTheirs, setError);
    } finally {
      setBusy(false);
    }
  }
  if (theirs !== undefined)
    return (
      <Comparison
        place={at}
        columns={listColumns(entity).filter(({ isReadOnly }) => !isReadOnly)}
        zone={zone}
        base={read.record}
        mine={new Map()}
        theirs={theirs.record}
        isDelete
        onKeepMine={() => void remove(theirs.version)}
        onTakeTheirs={() => {
          onTakeTheirs(theirs);
          onClose();
        }}
        onClose={onClose}
      />
    );
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
      <ErrorAlert error={error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={isBusy} onClick={() => void remove(read.version)}>
          Delete
        </Button>
      </Group>
    </Modal>
  );
}

interface ReferringLineProps extends Referrer {
  readonly at: EntityRef;
  readonly id: string;
}

function ReferringLine({ at, id, entity, column }: ReferringLineProps) {
  const filter = `${column},eq,${id}`;
  const { data } = useQuery({
    queryKey: ['referring', at.org, at.ws, entity, filter],
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const path = entityPath({ ...at, entity }, `?filter=${encodeURIComponent(filter)}&size=1&fields=id&expand=`);
      return Number((await requestExact<readonly RecordValue[]>({ path, signal })).meta.totalElements);
    },
  });
  return (
    <List.Item>
      <Anchor component={Link} size="sm" to={screenPath(at, `/data/${entity}`)} search={{ filter } as never}>
        {`${data === undefined ? '…' : formatCount(data)} ${entity}`}
      </Anchor>{' '}
      by {column}
    </List.Item>
  );
}
