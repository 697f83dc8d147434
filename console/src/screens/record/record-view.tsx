// An existing record, on a screen of its own or in the drawer over the grid: form, relations, history, JSON, and deletion.
import { Button, Code, Group, ScrollArea, Tabs, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { hasStatus } from '../../api/api-error.ts';
import { stringifyExact } from '../../api/json.ts';
import type { EntityDocument } from '../../api/schema.ts';
import { screenPath } from '../../api/workspace.ts';
import { getLastListSearch } from '../../records/last-list.ts';
import { findRecordLabel, getLabel } from '../../records/record-label.ts';
import { type EntityRef, fetchRecord, type Versioned } from '../../records/requests.ts';
import { ErrorAlert } from '../../shell/error-alert.tsx';
import { useAnnouncement } from '../../shell/live-region.tsx';
import { useMayWrite } from '../../shell/permissions.ts';
import { ScreenFrame, type ScreenFrameProps } from '../../shell/screen-frame.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { describeCreated, RecordForm } from './form.tsx';
import { RecordHistory } from './history.tsx';
import { Relations } from './relations.tsx';

export interface RecordViewProps {
  readonly entityRef: EntityRef;
  readonly entity: EntityDocument;
  readonly id: string;
  /** Frame in place of that of a screen. */
  readonly renderFrame?: (parts: ScreenFrameProps) => ReactNode;
  /** Called after the record was stored. */
  readonly onStored?: () => void;
  /** Called after the record was deleted, in place of the way back to the list. */
  readonly onDeleted?: () => void;
}

const renderScreen = (parts: ScreenFrameProps): ReactNode => <ScreenFrame {...parts} />;

export function RecordView({ entityRef, entity, id, renderFrame, onStored, onDeleted }: RecordViewProps) {
  const key = ['record', entityRef.org, entityRef.ws, entityRef.entity, id];
  const client = useQueryClient();
  const navigate = useNavigate();
  // An edited record must not change while the user types: only a save brings a newer one.
  const read = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => fetchRecord(entityRef, id, ['*'], signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  // A pending response would restore the former record.
  async function keep(saved: Versioned): Promise<void> {
    await client.cancelQueries({ queryKey: key, exact: true });
    client.setQueryData(key, saved);
    onStored?.();
    const own = JSON.stringify(key);
    void client.invalidateQueries({
      queryKey: ['record', entityRef.org, entityRef.ws, entityRef.entity],
      predicate: ({ queryKey }) => JSON.stringify(queryKey) !== own,
    });
  }
  const [isDeleting, setDeleting] = useState(false);
  const mayWrite = useMayWrite();
  const label = read.data === undefined ? undefined : findRecordLabel(read.data.record, getLabel(entity));
  const list = screenPath(entityRef, `/data/${entityRef.entity}`);
  const isCreated = useAnnouncement().trim() === describeCreated(entityRef, id);
  const actions = (
    <Group gap="xs">
      {isCreated && <Text size="sm">Created</Text>}
      {renderFrame === undefined ? (
        <Button component={Link} to={list} search={getLastListSearch(list)} variant="subtle">
          {`All ${entityRef.entity}`}
        </Button>
      ) : (
        <Button component={Link} to={`${list}/${id}`} variant="subtle">
          Open as a page
        </Button>
      )}
      {mayWrite && entity.operations.includes('create') && (
        <Button component={Link} to={`${list}/new`} search={{ from: id } as never} variant="default">
          Duplicate
        </Button>
      )}
      {mayWrite && entity.operations.includes('delete') && (
        <Button variant="default" color="red" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      )}
    </Group>
  );
  const hasHistory = entity.operations.includes('history');
  const notFound = <ErrorAlert error={read.error} onRetry={() => void read.refetch()} />;
  const history = (
    <RecordHistory
      entityRef={entityRef}
      entity={entity}
      id={id}
      current={read.data}
      notFound={notFound}
      onStored={keep}
    />
  );
  const title = label === undefined ? `${entityRef.entity} ${id}` : `${entityRef.entity} ${id}: ${label.slice(0, 80)}`;
  const children = (
    <>
      {read.data === undefined && hasHistory && hasStatus(read.error, 404) ? history : notFound}
      {read.data !== undefined && (
        <Tabs defaultValue="fields" keepMounted>
          <Tabs.List mb="sm">
            <Tabs.Tab value="fields">Fields</Tabs.Tab>
            <Tabs.Tab value="relations">Relations</Tabs.Tab>
            {hasHistory && <Tabs.Tab value="history">History</Tabs.Tab>}
            <Tabs.Tab value="json">JSON</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="fields">
            <RecordForm entityRef={entityRef} entity={entity} read={read.data} onSaved={keep} />
          </Tabs.Panel>
          <Tabs.Panel value="relations" keepMounted={false}>
            <Relations entityRef={entityRef} entity={entity} record={read.data.record} />
          </Tabs.Panel>
          {hasHistory && (
            <Tabs.Panel value="history" keepMounted={false}>
              {history}
            </Tabs.Panel>
          )}
          <Tabs.Panel value="json" keepMounted={false}>
            <ScrollArea.Autosize mah="70vh" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'JSON' }}>
              <Code block>{lines(stringifyExact(read.data.record))}</Code>
            </ScrollArea.Autosize>
          </Tabs.Panel>
        </Tabs>
      )}
      {isDeleting && read.data !== undefined && (
        <DeleteDialog
          entityRef={entityRef}
          entity={entity}
          read={read.data}
          onClose={() => setDeleting(false)}
          onDeleted={
            onDeleted ?? (() => void navigate({ to: list, search: getLastListSearch(list), ignoreBlocker: true }))
          }
          onTakeTheirs={(theirs) => void keep(theirs)}
        />
      )}
    </>
  );
  return (renderFrame ?? renderScreen)({ title, actions: read.data === undefined ? null : actions, children });
}

/** Formats an object with one member a line; numbers keep their digits. */
const lines = (text: string): string =>
  JSON.stringify(JSON.parse(text, keepDigits), undefined, 2).replace(/"\uE000([^"]*)\uE000"/g, '$1');

// Marks digits with private use characters, for printing without quotes.
function keepDigits(this: unknown, _name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? `\uE000${context?.source ?? value}\uE000` : value;
}
