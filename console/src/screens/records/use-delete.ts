// Deletion of the selected records, all or none, unless another user has changed one since it was read; an owner can
// undo it.
import { useState } from 'react';
import { isApiError } from '../../api/api-error.ts';
import type { EntityDocument, WorkspaceSchema } from '../../api/schema.ts';
import { pluralize } from '../../format/amount.ts';
import { type EntityRef, fetchRecord, fetchRecords } from '../../records/requests.ts';
import type { Row, Rows } from '../../records/rows.ts';
import { getId } from '../../records/value.ts';
import { deleteRecords, MAX_BULK } from '../../records/write-requests.ts';
import type { Conflict } from '../../records/writer.ts';
import { announce } from '../../shell/live-region.tsx';
import type { Question } from './dialogs.tsx';
import type { Editing } from './use-editing.ts';

export interface DeleteOptions {
  readonly entityRef: EntityRef;
  readonly schema: WorkspaceSchema;
  readonly entity: EntityDocument;
  readonly rows: Rows | undefined;
  readonly editing: Editing;
  readonly mayGiveIds: boolean;
  readonly onDeleted: () => void;
}

/** Returns whether a delete also deletes other records, which no undo restores. */
export const isCascading = (schema: WorkspaceSchema, name: string): boolean =>
  [...schema.entities.values()].some(({ relations }) =>
    [...relations.values()].some(
      ({ kind, entity, onDelete }) =>
        kind === 'belongsTo' && entity === name && (onDelete === 'cascade' || onDelete === 'setNull'),
    ),
  );

export function useDelete({ entityRef, schema, entity, rows, editing, mayGiveIds, onDeleted }: DeleteOptions) {
  const [conflict, setConflict] = useState<
    (Conflict & { readonly versions: ReadonlyMap<string, string> }) | undefined
  >();
  const canUndo = mayGiveIds && !isCascading(schema, entity.name);

  async function run(versions: ReadonlyMap<string, string>): Promise<void> {
    const ids = [...versions.keys()];
    const whole = canUndo ? await fetchRecords(entityRef, ids) : [];
    try {
      await deleteRecords(entityRef, versions);
    } catch (error) {
      const index = isApiError(error, 'PRECONDITION_FAILED') ? error.details[0]?.index : undefined;
      const id = ids[index ?? -1];
      const row = id === undefined ? undefined : rows?.byId(id);
      if (row === undefined) throw error;
      setConflict({ row, mine: new Map(), theirs: await fetchRecord(entityRef, row.id), versions });
      return;
    }
    if (canUndo) {
      const records = whole.map(({ record }) => record);
      editing.writer.recordDelete({
        kind: 'delete',
        description: `delete of ${pluralize(records.length, 'record')}`,
        records,
      });
    }
    announce(`${pluralize(ids.length, 'record')} deleted`);
    onDeleted();
  }

  /** Returns the confirmation before records are deleted. */
  function question(selected: readonly string[]): Question {
    return {
      title: `Delete ${pluralize(selected.length, 'record')} of ${entity.name}?`,
      text: canUndo ? 'It can be undone as long as this page is open.' : 'This cannot be undone.',
      action: 'Delete',
      isDestroying: true,
      deletes: selected,
      async run() {
        if (selected.length > MAX_BULK) throw new Error(`At most ${pluralize(MAX_BULK, 'record')} are deleted at once`);
        const loadedRows = new Map(selected.map((id) => [id, rows?.byId(id)]));
        const missing = selected.filter((id) => loadedRows.get(id) === undefined);
        const fetched = new Map(
          (await fetchRecords(entityRef, missing, ['id'])).map((one) => [getId(one.record), one.version]),
        );
        await run(new Map(selected.map((id) => [id, loadedRows.get(id)?.version ?? fetched.get(id) ?? ''])));
      },
    };
  }

  return {
    question,
    conflict,
    /** Deletes with the compared version, or keeps the record. */
    async resolve(isAnyway: boolean): Promise<void> {
      if (conflict === undefined) return;
      const { row, theirs, versions } = conflict;
      setConflict(undefined);
      if (!isAnyway || theirs === undefined) return;
      rows?.replace({ ...(row satisfies Row), version: theirs.version });
      try {
        await run(new Map(versions).set(row.id, theirs.version));
      } catch (error) {
        editing.setRefused(error);
      }
    },
  };
}
