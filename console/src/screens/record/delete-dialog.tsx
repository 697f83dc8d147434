// Dialog that deletes a record after a trial: it says what prevents the delete or goes with it, and compares a change by
// another user first.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isApiError } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import { type EntityDocument, schemaQuery } from '../../api/schema.ts';
import { Comparison } from '../../records/comparison.tsx';
import { listColumns } from '../../records/fields.ts';
import { Referrers, TrialRefusal, useDeleteTrial } from '../../records/referrers.tsx';
import { type EntityRef, entityPath, fetchRecord, type Versioned } from '../../records/requests.ts';
import { getId } from '../../records/value.ts';
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

export function DeleteDialog({ entityRef, entity, read, onClose, onDeleted, onTakeTheirs }: DeleteDialogProps) {
  const id = getId(read.record);
  const { data: schema } = useQuery(schemaQuery(entityRef));
  const client = useQueryClient();
  const [theirs, setTheirs] = useState<Versioned>();
  const zone = useTimeZone();
  const trial = useDeleteTrial(entityRef, [id]);
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
      isDisabled={!trial.isSuccess}
      onClose={onClose}
      onSubmit={() => remove.mutateAsync(read.version)}
    >
      <TrialRefusal error={trial.error} count={1} />
      {schema !== undefined && !trial.isPending && (
        <Referrers entityRef={entityRef} schema={schema} ids={[id]} isRefused={trial.isError} />
      )}
    </ConfirmDialog>
  );
}
