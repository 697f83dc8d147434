// Dialogs that confirm changes of many records.
import { Button, Checkbox, Group, Modal, NativeSelect, ScrollArea, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { formatJson, type Json } from '../../api/json.ts';
import type { WorkspaceSchema } from '../../api/schema.ts';
import { pluralize } from '../../format/amount.ts';
import type { TimeZone } from '../../format/datetime.ts';
import type { RecordColumn } from '../../records/fields.ts';
import { Referrers, TrialRefusal, useDeleteTrial } from '../../records/referrers.tsx';
import type { EntityRef } from '../../records/requests.ts';
import { parseValue } from '../../records/value.ts';
import { ValueEditor } from '../../records/value-editor.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { FormDialog } from '../../shell/dialogs.tsx';

export interface Question {
  readonly title: string;
  readonly text: ReactNode;
  readonly action: string;
  readonly isDestroying?: boolean;
  /** Ids of records that it deletes, which is tried first. */
  readonly deletes?: readonly string[];
  /** Runs the action; an error that it throws appears in the dialog, which stays open. */
  readonly run: () => Promise<void>;
}

export interface QuestionDialogProps {
  readonly question: Question;
  readonly entityRef: EntityRef;
  readonly schema: WorkspaceSchema;
  readonly onClose: () => void;
}

export function QuestionDialog({ question, entityRef, schema, onClose }: QuestionDialogProps) {
  const { title, text, action, isDestroying = false, deletes = NONE, run } = question;
  const isDelete = deletes.length > 0;
  const trial = useDeleteTrial(entityRef, deletes, isDelete);
  return (
    <FormDialog
      title={title}
      action={action}
      isDestructive={isDestroying}
      isDisabled={isDelete && !trial.isSuccess}
      focusesAction={!isDelete}
      focusesCancel={isDelete}
      onClose={onClose}
      onSubmit={async () => {
        await run();
        onClose();
      }}
    >
      {trial.isError ? <TrialRefusal error={trial.error} count={deletes.length} /> : <div>{text}</div>}
      {isDelete && !trial.isPending && (
        <Referrers entityRef={entityRef} schema={schema} ids={deletes} isRefused={trial.isError} />
      )}
    </FormDialog>
  );
}

const NONE: readonly string[] = [];

export interface BulkEditProps {
  readonly entityRef: EntityRef;
  readonly columns: readonly RecordColumn[];
  readonly zone: TimeZone;
  readonly count: number;
  /** Whether the records are all that match, which are counted before they are saved. */
  readonly isAll?: boolean;
  readonly onClose: () => void;
  readonly onSave: (name: string, value: Json) => void;
}

/** Dialog that sets one field of all selected records to one value. */
export function BulkEditDialog({ entityRef, columns, zone, count, isAll = false, onClose, onSave }: BulkEditProps) {
  const editable = columns.filter(({ isReadOnly }) => !isReadOnly);
  const [name, setName] = useState(editable[0]?.name ?? '');
  const [text, setText] = useState('');
  const [isNull, setNull] = useState(false);
  const [message, setMessage] = useState<string>();
  const column = editable.find((one) => one.name === name);
  return (
    <FormDialog
      title={isAll ? 'Edit all that match' : `Edit ${pluralize(count, 'record')}`}
      action={isAll ? 'Count the records' : `Save ${pluralize(count, 'record')}`}
      onClose={onClose}
      onSubmit={() => {
        if (column === undefined) return;
        const parsed = isNull ? ({ kind: 'value', value: null } as const) : parseValue(text, column, zone);
        if (parsed.kind === 'mistake') setMessage(parsed.message);
        else onSave(name, parsed.value);
      }}
    >
      <NativeSelect
        label="Field"
        data={editable.map((one) => one.name)}
        value={name}
        onChange={(event) => {
          setName(event.currentTarget.value);
          setText('');
          setNull(false);
        }}
      />
      {column !== undefined && !isNull && (
        <ValueEditor
          key={name}
          workspace={entityRef}
          column={column}
          zone={zone}
          text={text}
          onText={setText}
          label="Value"
          isInvalid={message !== undefined}
        />
      )}
      {message !== undefined && (
        <Text size="sm" c="red" role="alert">
          {message}
        </Text>
      )}
      {column !== undefined && !column.isRequired && (
        <Checkbox label="NULL" checked={isNull} onChange={(event) => setNull(event.currentTarget.checked)} />
      )}
    </FormDialog>
  );
}

export interface ReviewProps {
  readonly changes: readonly {
    readonly id: string;
    readonly name: string;
    readonly value: Json;
    readonly message?: string;
  }[];
  readonly onClose: () => void;
  readonly onDiscard: () => void;
  readonly onSave: () => void;
}

/** Shows the queued changes before they are saved. */
export function ReviewDialog({ changes, onClose, onDiscard, onSave }: ReviewProps) {
  return (
    <Modal opened onClose={onClose} title={`Review ${pluralize(changes.length, 'change')}`} size="lg">
      <ScrollArea.Autosize mah={360}>
        <DataTable
          label="Changes"
          rows={changes.slice(0, 500)}
          rowKey={({ id, name }) => `${id}/${name}`}
          minWidth={320}
          columns={[
            { title: 'Record', cell: ({ id }) => id },
            { title: 'Field', cell: ({ name }) => <bdi>{name}</bdi> },
            {
              title: 'New value',
              className: 'comparison-value',
              cell: ({ value, message }) => (
                <>
                  <bdi dir="auto">{formatJson(value).slice(0, 200)}</bdi>
                  {message !== undefined && (
                    <Text size="xs" c="red">
                      {message}
                    </Text>
                  )}
                </>
              ),
            },
          ]}
        />
      </ScrollArea.Autosize>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onDiscard}>
          Discard all
        </Button>
        <Button onClick={onSave} data-autofocus>
          Save all
        </Button>
      </Group>
    </Modal>
  );
}
