// Dialog that restores a record as it was after an event. When another user changed it meanwhile, both versions are
// compared first.
import { Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { isApiError } from '../../api/api-error.ts';
import { CellValue } from '../../records/cell-value.tsx';
import { Comparison } from '../../records/comparison.tsx';
import { asItWasQuery, listRestored, restoreRecord } from '../../records/record-history.ts';
import { fetchRecord, type Versioned } from '../../records/requests.ts';
import { getMember } from '../../records/value.ts';
import { createKeyCache, retryUnreachable } from '../../records/write-requests.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { formatDateTime } from '../../shell/datetime.tsx';
import { FormDialog } from '../../shell/dialogs.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { announce } from '../../shell/live-region.tsx';
import { useTimeZone } from '../../shell/time-zone.tsx';
import type { AsItWasProps } from './as-it-was.tsx';

export interface RestoreDialogProps extends Omit<AsItWasProps, 'onRestore'> {
  /** Called with the record as it was stored, or as another user did. */
  readonly onStored: (stored: Versioned) => Promise<void>;
}

export function RestoreDialog({ entityRef, id, columns, event, current, onClose, onStored }: RestoreDialogProps) {
  const zone = useTimeZone();
  const read = useQuery(asItWasQuery(entityRef, id, event.id));
  // Record that the user compares with; a newer one would be overwritten unseen.
  const [base] = useState(current);
  const [theirs, setTheirs] = useState<Versioned | 'deleted'>();
  const [getKey] = useState(createKeyCache);
  const values = read.data === undefined ? new Map() : listRestored(columns, read.data, base?.record);
  const restore = useMutation({
    mutationFn: async (version: string | undefined) => {
      try {
        const stored = await retryUnreachable(
          () => restoreRecord(entityRef, { id, event: event.id, version }, getKey(`${event.id} ${version}`)),
          () => true,
        );
        await onStored(stored);
        announce(`${entityRef.entity} ${id} restored`);
        onClose();
      } catch (thrown) {
        setTheirs(isApiError(thrown, 'PRECONDITION_FAILED') ? await fetchTheirs() : undefined);
        if (!isApiError(thrown, 'PRECONDITION_FAILED')) throw thrown;
      }
    },
  });
  const fetchTheirs = (): Promise<Versioned | 'deleted'> =>
    fetchRecord(entityRef, id).catch((thrown) => {
      if (isApiError(thrown, 'NOT_FOUND')) return 'deleted';
      throw thrown;
    });
  const byName = new Map(columns.map((column) => [column.name, column]));
  const format = (name: string, value: Parameters<typeof CellValue>[0]['value']) => {
    const column = byName.get(name);
    return column === undefined ? null : (
      <CellValue workspace={entityRef} column={column} value={value ?? null} zone={zone} />
    );
  };
  if (theirs !== undefined && base !== undefined)
    return (
      <Comparison
        workspace={entityRef}
        columns={columns.filter(({ isReadOnly }) => !isReadOnly)}
        zone={zone}
        base={base.record}
        mine={values}
        theirs={theirs === 'deleted' ? undefined : theirs.record}
        onKeepMine={() => theirs !== 'deleted' && restore.mutate(theirs.version)}
        onTakeTheirs={() => {
          if (theirs !== 'deleted') void onStored(theirs);
          onClose();
        }}
        onClose={onClose}
      />
    );
  return (
    <FormDialog
      title={`Restore ${entityRef.entity} ${id}?`}
      action="Restore"
      size="lg"
      isDisabled={read.data === undefined || (base !== undefined && values.size === 0)}
      aside={
        <CopyAs
          call={() => ({
            origin: location.origin,
            workspace: `${entityRef.org}/${entityRef.ws}`,
            entity: entityRef.entity,
            method: 'POST',
            rest: `/${id}/_restore`,
            query: [],
            body: JSON.stringify({ event: event.id }),
          })}
        />
      }
      onClose={onClose}
      onSubmit={() => restore.mutateAsync(base?.version)}
    >
      {(error) => (
        <>
          <Text size="sm">
            {base === undefined ? 'The record is deleted, and is created again with its id. ' : ''}
            {`As it was ${event.type === 'removed' ? 'before' : 'after'} ${formatDateTime(event.at, zone)}. `}
            Fields that did not exist then, or whose values are not kept, stay as they are.
          </Text>
          <ErrorAlert error={read.error} onRetry={() => void read.refetch()} />
          {error === null && <ErrorAlert error={restore.error} />}
          {read.data !== undefined && base !== undefined && values.size === 0 && (
            <Text size="sm">The record is the same now.</Text>
          )}
          {values.size > 0 && (
            <DataTable
              label="Fields to restore"
              rows={[...values]}
              rowKey={([name]) => name}
              minWidth={360}
              columns={[
                { title: 'Field', isRowHeader: true, cell: ([name]) => <bdi>{name}</bdi> },
                base !== undefined && {
                  title: 'Now',
                  cell: ([name]) => format(name, getMember(base.record, name)),
                  className: 'comparison-value',
                },
                { title: 'Restored', cell: ([name, value]) => format(name, value), className: 'comparison-value' },
              ]}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
