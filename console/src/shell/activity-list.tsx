// Activity log as a table that grows by pages, with its filters in the address bar.
import { Anchor, Button, Code, Group, Text, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import type { KeyboardEvent } from 'react';
import { getAll, parseSearch } from '../address.ts';
import { type ActivityFilter, activityPath, activityQuery } from '../api/activity.ts';
import type { Activity } from '../api/types.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { workspaceOption } from '../snippets/admin.ts';
import { quoteShell } from '../snippets/snippets.ts';
import { CopyReadAs } from './copy-as.tsx';
import { DataTable } from './data-table.tsx';
import { DateTime } from './datetime.tsx';
import { ErrorAlert } from './error-alert.tsx';

const FILTERS = [
  { name: 'actor', placeholder: 'name or id' },
  { name: 'action', placeholder: 'apiKeys, schema.update' },
  { name: 'entity', placeholder: 'orders' },
] as const;

// Longest details of an entry in characters.
const LONGEST = 400;

/** Shows the log of one workspace, or of all if there is none. */
export function ActivityList({ workspace }: { readonly workspace?: WorkspaceRef }) {
  const { searchStr, pathname } = useLocation();
  const navigate = useNavigate();
  const search = parseSearch(searchStr);
  const getFilter = (name: string): string | undefined => getAll(search, name)[0];
  const filter = { actor: getFilter('actor'), action: getFilter('action'), entity: getFilter('entity') };
  const pages = useInfiniteQuery(activityQuery(workspace, filter));
  const entries = pages.data?.pages.flatMap((page) => page.entries) ?? [];
  const set = (name: string, value: string): void =>
    void navigate({
      to: pathname,
      search: { ...search, [name]: value.trim() === '' ? undefined : value.trim() } as never,
    });
  return (
    <>
      <Text size="sm" c="dimmed" mb="xs">
        Changes through the admin API: schemas, keys, access, settings. Edits of records are not listed.
      </Text>
      <Group mb="sm" align="end">
        {FILTERS.map(({ name, placeholder }) => (
          <TextInput
            key={name + getFilter(name)}
            label={name}
            placeholder={placeholder}
            defaultValue={getFilter(name) ?? ''}
            onBlur={(event) =>
              event.currentTarget.value !== (getFilter(name) ?? '') && set(name, event.currentTarget.value)
            }
            onKeyDown={(event: KeyboardEvent<HTMLInputElement>) =>
              event.key === 'Enter' && set(name, event.currentTarget.value)
            }
          />
        ))}
        <CopyReadAs path={activityPath(workspace, filter)} wda={command(workspace, filter)} />
      </Group>
      <ErrorAlert error={pages.error} onRetry={() => void pages.refetch()} />
      {pages.data !== undefined && entries.length === 0 && <Text size="sm">No changes match.</Text>}
      {entries.length > 0 && (
        <DataTable
          label="Activity"
          rows={entries}
          rowKey={({ id }) => id}
          minWidth={workspace === undefined ? 960 : 840}
          columns={[
            { title: 'Time', cell: ({ at }) => <DateTime instant={at} /> },
            { title: 'Actor', cell: ActorName, minWidth: 120 },
            { title: 'Action', cell: ({ action }) => <Code>{action}</Code>, minWidth: 160 },
            workspace === undefined && {
              title: 'Workspace',
              cell: (entry: Activity) => [entry.organization, entry.workspace].filter(Boolean).join('/'),
              minWidth: 110,
            },
            {
              title: 'Target',
              cell: ({ entity, subject }) => (
                <bdi dir="auto">{[...new Set([entity, subject])].filter((one) => one != null).join(' · ')}</bdi>
              ),
              minWidth: 140,
            },
            { title: 'Details', cell: (entry) => <Details entry={entry} workspace={workspace} />, minWidth: 240 },
          ]}
        />
      )}
      {pages.hasNextPage && (
        <Button variant="default" mt="sm" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          Load more
        </Button>
      )}
    </>
  );
}

function command(workspace: WorkspaceRef | undefined, filter: ActivityFilter): string {
  const options = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [` --${name} ${quoteShell(value)}`],
  );
  return `activity ${workspace === undefined ? '--all' : workspaceOption(workspace)}${options.join('')}`;
}

const ActorName = ({ actor }: Activity) => (
  <>
    <bdi>{actor.name ?? actor.kind}</bdi>{' '}
    {actor.name !== null && actor.name !== actor.kind && (
      <Text span size="xs" c="dimmed">
        {actor.kind}
      </Text>
    )}
  </>
);

function Details({ entry, workspace }: { readonly entry: Activity; readonly workspace: WorkspaceRef | undefined }) {
  const { details } = entry;
  const migration = details !== null && Object.hasOwn(details, 'migration') ? details.migration : undefined;
  if (workspace !== undefined && (typeof migration === 'number' || typeof migration === 'string'))
    return (
      <Anchor component={Link} size="sm" to={screenPath(workspace, `/migrations/${migration}`)}>
        Migration {migration}
      </Anchor>
    );
  if (details === null || Object.keys(details).length === 0) return null;
  return <Code style={{ whiteSpace: 'pre-wrap', wordBreak: 'break-all' }}>{truncate(JSON.stringify(details))}</Code>;
}

const truncate = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
