// Questions before many records change.
import { Anchor, Button, Group, List, Modal, NativeSelect, Stack, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { stringifySearch } from '../../address.ts';
import { isApiError } from '../../api/api-error.ts';
import { type Json, stringifyExact } from '../../api/json.ts';
import type { WorkspaceSchema } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import { pluralize } from '../../format/amount.ts';
import type { TimeZone } from '../../format/datetime.ts';
import { getKeyColumn, type RecordColumn } from '../../records/fields.ts';
import type { EntityRef } from '../../records/requests.ts';
import { parseValue } from '../../records/value.ts';
import { ValueEditor } from '../../records/value-editor.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';

export interface Question {
  readonly title: string;
  readonly text: ReactNode;
  readonly action: string;
  readonly isDestroying?: boolean;
  /** Throws what is then shown in the dialog, which stays open. */
  readonly run: () => Promise<void>;
}

export interface QuestionDialogProps {
  readonly question: Question;
  readonly at: EntityRef;
  readonly schema: WorkspaceSchema;
  readonly ids: readonly string[];
  readonly onClose: () => void;
}

export function QuestionDialog({ question, at, schema, ids, onClose }: QuestionDialogProps) {
  const [error, setError] = useState<unknown>();
  const [isRunning, setRunning] = useState(false);
  async function run(): Promise<void> {
    setRunning(true);
    setError(undefined);
    try {
      await question.run();
      onClose();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setRunning(false);
    }
  }
  return (
    <Modal opened onClose={onClose} title={question.title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <div>{question.text}</div>
      <ErrorAlert error={error} />
      <Referring error={error} at={at} schema={schema} ids={ids} />
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          color={question.isDestroying === true ? 'red' : 'accent'}
          loading={isRunning}
          onClick={() => void run()}
          data-autofocus
        >
          {question.action}
        </Button>
      </Group>
    </Modal>
  );
}

/** Links to the records that stand in the way of a delete. */
function Referring({
  error,
  at,
  schema,
  ids,
}: Pick<QuestionDialogProps, 'at' | 'schema' | 'ids'> & { readonly error: unknown }) {
  const details = isApiError(error) ? error.details.filter(({ code }) => code === 'STILL_REFERENCED') : [];
  const links = [...new Set(details.map(({ field }) => field ?? ''))].flatMap((field) => {
    const [entity = '', name = ''] = field.split('.');
    const relation = schema.entities.get(entity)?.relations.get(name);
    if (relation === undefined) return [];
    const search = stringifySearch({ filter: `${getKeyColumn(relation)},in,${ids.slice(0, 200).join(',')}` });
    return [{ entity, name, to: screenPath(at, `/data/${entity}${search}`) }];
  });
  if (links.length === 0) return null;
  return (
    <List size="sm">
      {links.map(({ entity, name, to }) => (
        <List.Item key={`${entity}.${name}`}>
          <Anchor component={Link} to={to} size="sm">
            Records of <bdi>{entity}</bdi> that refer to {ids.length === 1 ? 'it' : 'them'} by <bdi>{name}</bdi>
          </Anchor>
        </List.Item>
      ))}
    </List>
  );
}

export interface BulkEditProps {
  readonly at: EntityRef;
  readonly columns: readonly RecordColumn[];
  readonly zone: TimeZone;
  readonly count: number;
  readonly onClose: () => void;
  readonly onSave: (name: string, value: Json) => void;
}

/** One field of all selected records gets one value. */
export function BulkEditDialog({ at, columns, zone, count, onClose, onSave }: BulkEditProps) {
  const editable = columns.filter(({ isReadOnly }) => !isReadOnly);
  const [name, setName] = useState(editable[0]?.name ?? '');
  const [text, setText] = useState('');
  const [isNull, setNull] = useState(false);
  const [message, setMessage] = useState<string>();
  const column = editable.find((one) => one.name === name);
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Edit ${pluralize(count, 'record')}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (column === undefined) return;
          const typed = isNull ? ({ kind: 'value', value: null } as const) : parseValue(text, column, zone);
          if (typed.kind === 'mistake') setMessage(typed.message);
          else onSave(name, typed.value);
        }}
      >
        <Stack gap="xs">
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
              place={at}
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
            <label>
              <input type="checkbox" checked={isNull} onChange={(event) => setNull(event.currentTarget.checked)} /> NULL
            </label>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit">Save {pluralize(count, 'record')}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
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

/** What is in the queue, before it is saved. */
export function ReviewDialog({ changes, onClose, onDiscard, onSave }: ReviewProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Review ${pluralize(changes.length, 'change')}`}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Table.ScrollContainer minWidth={320} mah={360}>
        <Table aria-label="Changes">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Record</Table.Th>
              <Table.Th>Field</Table.Th>
              <Table.Th>New value</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.slice(0, 500).map(({ id, name, value, message }) => (
              <Table.Tr key={`${id}/${name}`}>
                <Table.Td>{id}</Table.Td>
                <Table.Td>
                  <bdi>{name}</bdi>
                </Table.Td>
                <Table.Td className="comparison-value">
                  <bdi dir="auto">
                    {(value === null ? 'NULL' : typeof value === 'string' ? value : stringifyExact(value)).slice(
                      0,
                      200,
                    )}
                  </bdi>
                  {message !== undefined && (
                    <Text size="xs" c="red">
                      {message}
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
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
