// History of a record: who changed what and when, and the record as it was.
import { Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { hasStatus } from '../../api/api-error.ts';
import type { EntityDocument } from '../../api/schema.ts';
import { CellValue } from '../../records/cell-value.tsx';
import { listColumns, type RecordColumn } from '../../records/fields.ts';
import {
  describeActor,
  type FieldChange,
  historyQuery,
  listChanges,
  type RecordEvent,
} from '../../records/record-history.ts';
import type { EntityRef, Versioned } from '../../records/requests.ts';
import { CopyAs } from '../../shell/copy-as.tsx';
import { DataTable } from '../../shell/data-table.tsx';
import { DateTime, formatDateTime } from '../../shell/datetime.tsx';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useMayAdminister, useMayWrite } from '../../shell/permissions.ts';
import { useTimeZone } from '../../shell/time-zone.tsx';
import { AsItWasDialog } from './as-it-was.tsx';
import { RestoreDialog } from './restore-dialog.tsx';

export interface HistoryProps {
  readonly entityRef: EntityRef;
  readonly entity: EntityDocument;
  readonly id: string;
  /** Record of today, or undefined if it is deleted. */
  readonly current: Versioned | undefined;
  /** Shown in place of a record that has no entries either. */
  readonly notFound: ReactNode;
  /** Called with the record as it is stored now. */
  readonly onStored: (stored: Versioned) => Promise<void>;
}

const TYPES: Readonly<Record<RecordEvent['type'], string>> = {
  created: 'Created',
  updated: 'Changed',
  removed: 'Removed',
};

export function RecordHistory({ entityRef, entity, id, current, notFound, onStored }: HistoryProps) {
  const pages = useInfiniteQuery(historyQuery(entityRef, id));
  const columns = useMemo(() => listColumns(entity), [entity]);
  const [opened, setOpened] = useState<{ readonly event: RecordEvent; readonly restores: boolean }>();
  const mayWrite = useMayWrite();
  const mayAdminister = useMayAdminister();
  // Only owners may give a new record its id.
  const mayRestore = entity.operations.includes('restore') && (current === undefined ? mayAdminister : mayWrite);
  const close = () => setOpened(undefined);
  const events = pages.data?.pages.flatMap((page) => page.events) ?? [];
  const last = pages.data?.pages.at(-1);
  return (
    <Stack gap="sm" maw={820}>
      {current === undefined && !pages.isPending && events.length === 0 && notFound}
      {current === undefined && events.length > 0 && <Text>This record does not exist any more.</Text>}
      {/* Without record and entries the screen says that there is no such record. */}
      {!(current === undefined && hasStatus(pages.error, 404)) && (
        <ErrorAlert error={pages.error} onRetry={() => void pages.refetch()} />
      )}
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {last === undefined ? '' : <CompleteSince since={last.completeSince} isEmpty={events.length === 0} />}
        </Text>
        <CopyAs
          label="Copy history as"
          call={() => ({
            origin: location.origin,
            workspace: `${entityRef.org}/${entityRef.ws}`,
            entity: entityRef.entity,
            method: 'GET',
            rest: `/${id}/_history`,
            query: [],
          })}
        />
      </Group>
      {events.length > 0 && (
        <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }} aria-label="History">
          {events.map((event) => (
            <Entry
              key={event.id}
              entityRef={entityRef}
              columns={columns}
              event={event}
              onOpen={() => setOpened({ event, restores: false })}
              onRestore={mayRestore ? () => setOpened({ event, restores: true }) : undefined}
            />
          ))}
        </Stack>
      )}
      {pages.hasNextPage && (
        <div>
          <Button variant="default" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
      {opened?.restores === false && (
        <AsItWasDialog
          entityRef={entityRef}
          id={id}
          columns={columns}
          event={opened.event}
          current={current}
          onClose={close}
          onRestore={mayRestore ? () => setOpened({ ...opened, restores: true }) : undefined}
        />
      )}
      {opened?.restores === true && (
        <RestoreDialog
          entityRef={entityRef}
          id={id}
          columns={columns}
          event={opened.event}
          current={current}
          onClose={close}
          onStored={onStored}
        />
      )}
    </Stack>
  );
}

function CompleteSince({ since, isEmpty }: { readonly since: string | null; readonly isEmpty: boolean }) {
  const start = isEmpty ? 'No changes are kept. ' : '';
  return since === null ? (
    start
  ) : (
    <>
      {start}Complete since <DateTime instant={since} />
    </>
  );
}

interface EntryProps {
  readonly entityRef: EntityRef;
  readonly columns: readonly RecordColumn[];
  readonly event: RecordEvent;
  readonly onOpen: () => void;
  readonly onRestore: (() => void) | undefined;
}

function Entry({ entityRef, columns, event, onOpen, onRestore }: EntryProps) {
  const readOnly = new Set(columns.flatMap(({ name, isReadOnly }) => (isReadOnly ? [name] : [])));
  // The time of the update stands in the heading.
  const changes = event.type === 'updated' ? listChanges(event).filter(({ name }) => !readOnly.has(name)) : [];
  const heading = `event-${event.id}`;
  return (
    <Paper withBorder component="li" p="sm" aria-labelledby={heading}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs" id={heading}>
          <Badge variant="default" tt="none">
            {TYPES[event.type]}
          </Badge>
          <Title order={2} size="h3" fw={500}>
            <DateTime instant={event.at} />
          </Title>
          {event.actor !== undefined && (
            <Text size="sm">
              by <bdi>{describeActor(event.actor)}</bdi>
            </Text>
          )}
        </Group>
        {event.redacted !== true && (
          <Group gap="xs">
            <Button variant="default" size="compact-xs" aria-describedby={heading} onClick={onOpen}>
              Show as it was
            </Button>
            {onRestore !== undefined && (
              <Button variant="default" size="compact-xs" aria-describedby={heading} onClick={onRestore}>
                Restore this version
              </Button>
            )}
          </Group>
        )}
      </Group>
      {changes.length > 0 && <Changes entityRef={entityRef} columns={columns} changes={changes} at={event.at} />}
      <Note event={event} isEmpty={changes.length === 0} />
    </Paper>
  );
}

function Note({ event, isEmpty }: { readonly event: RecordEvent; readonly isEmpty: boolean }) {
  const words =
    event.redacted === true
      ? 'An owner has removed its values.'
      : event.truncated === true
        ? 'Its values are too large to be listed.'
        : event.type === 'updated' && isEmpty
          ? 'No field whose values are kept.'
          : (event.unknown ?? []).length > 0
            ? `Before their type changed: ${event.unknown?.join(', ')}.`
            : undefined;
  return words === undefined ? null : (
    <Text size="xs" c="dimmed" mt={4}>
      {words}
    </Text>
  );
}

interface ChangesProps {
  readonly entityRef: EntityRef;
  readonly columns: readonly RecordColumn[];
  readonly changes: readonly FieldChange[];
  readonly at: string;
}

function Changes({ entityRef, columns, changes, at }: ChangesProps) {
  const zone = useTimeZone();
  const byName = new Map(columns.map((column) => [column.name, column]));
  const format = (name: string, value: FieldChange['before']) => {
    const column = byName.get(name);
    return column === undefined ? null : (
      <CellValue workspace={entityRef} column={column} value={value ?? null} zone={zone} />
    );
  };
  return (
    <DataTable
      label={`Changed fields, ${formatDateTime(at, zone)}`}
      rows={changes}
      rowKey={({ name }) => name}
      minWidth={360}
      columns={[
        { title: 'Field', isRowHeader: true, cell: ({ name }) => <bdi>{name}</bdi> },
        { title: 'Before', cell: ({ name, before }) => format(name, before), className: 'history-value' },
        { title: 'After', cell: ({ name, after }) => format(name, after), className: 'history-value' },
      ]}
    />
  );
}
