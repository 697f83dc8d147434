// Dialog that deletes a record: lists the records that refer to it, and compares a change by another user first.
import { Anchor, List, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
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
import { ConfirmDialog } from '../../shell/dialogs.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';

export interface DeleteDialogProps {
  readonly entityRef: EntityRef;
  readonly entity: EntityDocument;
  readonly read: Versioned;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
  /** Called to show another user's change, when nothing is deleted. */
  readonly onTakeTheirs: (theirs: Versioned) => void;
}

/** Entity whose records store the id of this one. */
interface Referrer {
  readonly entity: string;
  readonly column: string;
}

export function DeleteDialog({ entityRef, entity, read, onClose, onDeleted, onTakeTheirs }: DeleteDialogProps) {
  const id = getId(read.record);
  const { data: schema } = useQuery(schemaQuery(entityRef));
  const client = useQueryClient();
  const [theirs, setTheirs] = useState<Versioned>();
  const zone = useTimeZone();
  const referrers = [...(schema?.entities.values() ?? [])].flatMap((other): Referrer[] =>
    [...other.relations.values()]
      .filter((relation) => relation.kind === 'belongsTo' && relation.entity === entity.name)
      .map((relation) => ({ entity: other.name, column: getKeyColumn(relation) })),
  );
  const remove = useMutation({
    mutationFn: async (version: string) => {
      setTheirs(undefined);
      try {
        await request({
          method: 'DELETE',
          path: entityPath(entityRef, `/${id}`),
          headers: { 'If-Match': `"${version}"` },
        });
      } catch (thrown) {
        if (!isApiError(thrown, 'PRECONDITION_FAILED')) throw thrown;
        setTheirs(await fetchRecord(entityRef, id));
        return;
      }
      announce(`${entity.name} ${id} deleted`);
      await client.invalidateQueries({ queryKey: ['record', entityRef.org, entityRef.ws, entityRef.entity] });
      onDeleted();
    },
  });
  if (theirs !== undefined)
    return (
      <Comparison
        workspace={entityRef}
        columns={listColumns(entity).filter(({ isReadOnly }) => !isReadOnly)}
        zone={zone}
        base={read.record}
        mine={new Map()}
        theirs={theirs.record}
        isDelete
        onKeepMine={() => remove.mutate(theirs.version)}
        onTakeTheirs={() => {
          onTakeTheirs(theirs);
          onClose();
        }}
        onClose={onClose}
      />
    );
  return (
    <ConfirmDialog
      title={`Delete ${entity.name} ${id}?`}
      action="Delete"
      onClose={onClose}
      onSubmit={() => remove.mutateAsync(read.version)}
    >
      {referrers.length > 0 && (
        <>
          <Text size="sm">Records that refer to it:</Text>
          <List size="sm">
            {referrers.map((one) => (
              <ReferringLine key={`${one.entity}.${one.column}`} entityRef={entityRef} id={id} {...one} />
            ))}
          </List>
        </>
      )}
    </ConfirmDialog>
  );
}

interface ReferringLineProps extends Referrer {
  readonly entityRef: EntityRef;
  readonly id: string;
}

function ReferringLine({ entityRef, id, entity, column }: ReferringLineProps) {
  const filter = `${column},eq,${id}`;
  const { data } = useQuery({
    queryKey: ['referring', entityRef.org, entityRef.ws, entity, filter],
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const path = entityPath(
        { ...entityRef, entity },
        `?filter=${encodeURIComponent(filter)}&size=1&fields=id&expand=`,
      );
      return Number((await requestExact<readonly RecordValue[]>({ path, signal })).meta.totalElements);
    },
  });
  return (
    <List.Item>
      <Anchor component={Link} size="sm" to={screenPath(entityRef, `/data/${entity}`)} search={{ filter } as never}>
        {`${data === undefined ? '…' : formatCount(data)} ${entity}`}
      </Anchor>{' '}
      by {column}
    </List.Item>
  );
}
