// Activity log as sentences, a page at a time, with its filters in the address bar.
import { Anchor, Button, Code, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import type { KeyboardEvent } from 'react';
import { getAll, parseSearch } from '../address.ts';
import { type ActivityFilter, activityPath, activityQuery } from '../api/activity.ts';
import { ACTION_CHOICES, describeActivity } from '../api/activity-words.ts';
import { fieldError } from '../api/api-error.ts';
import type { Activity } from '../api/types.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { parseDateTime } from '../format/datetime.ts';
import { workspaceOption } from '../snippets/admin.ts';
import { quoteShell } from '../snippets/snippets.ts';
import { CopyReadAs } from './copy-as.tsx';
import { DataTable } from './data-table.tsx';
import { DateTime } from './datetime.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { useTimeZone } from './time-zone.tsx';

const FILTERS = [
  { name: 'actor', label: 'Person or key', placeholder: 'name or id' },
  { name: 'entity', label: 'Entity', placeholder: 'orders' },
  { name: 'since', label: 'From', placeholder: '2026-01-31' },
  { name: 'until', label: 'Before', placeholder: '2026-02-28 18:00' },
] as const;

// Longest details of an entry in characters.
const LONGEST = 400;

/** Shows the log of one workspace, or of all if there is none. */
export function ActivityList({ workspace }: { readonly workspace?: WorkspaceRef }) {
  const { searchStr, pathname } = useLocation();
  const navigate = useNavigate();
  const zone = useTimeZone();
  const search = parseSearch(searchStr);
  const getFilter = (name: string): string | undefined => getAll(search, name)[0];
  const readTime = (name: string): string | undefined => {
    const typed = getFilter(name);
    return typed === undefined ? undefined : (parseDateTime(typed, zone) ?? typed);
  };
  const filter: ActivityFilter = {
    actor: getFilter('actor'),
    action: getFilter('action'),
    entity: getFilter('entity'),
    since: readTime('since'),
    until: readTime('until'),
  };
  const after = getFilter('after');
  const { data, error, refetch } = useQuery(activityQuery(workspace, filter, after));
  const set = (name: string, value: string): void =>
    void navigate({
      to: pathname,
      search: { ...search, after: undefined, [name]: value.trim() === '' ? undefined : value.trim() } as never,
    });
  const action = filter.action ?? '';
  const choices = ACTION_CHOICES.some(({ value }) => value === action)
    ? ACTION_CHOICES
    : [...ACTION_CHOICES, { value: action, label: action }];
  return (
    <>
      <Text size="sm" c="dimmed" mb="xs">
        Changes of schema, access and settings, and imports. Who changed a record is in its history.
      </Text>
      <Group mb="sm" align="end">
        <NativeSelect
          label="Action"
          data={choices}
          value={action}
          onChange={({ currentTarget: { value } }) => set('action', value)}
        />
        {FILTERS.map(({ name, label, placeholder }) => (
          <TextInput
            key={name + getFilter(name)}
            label={label}
            placeholder={placeholder}
            defaultValue={getFilter(name) ?? ''}
            error={fieldError(error, name)}
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
      <ErrorAlert error={error} onRetry={() => void refetch()} />
      {data?.entries.length === 0 && <Text size="sm">No changes match.</Text>}
      {data !== undefined && data.entries.length > 0 && (
        <DataTable
          label="Activity"
          rows={data.entries}
          rowKey={({ id }) => id}
          minWidth={workspace === undefined ? 960 : 840}
          columns={[
            { title: 'Time', cell: ({ at }) => <DateTime instant={at} /> },
            { title: 'Change', cell: (entry) => <Sentence entry={entry} />, minWidth: 240 },
            workspace === undefined && {
              title: 'Workspace',
              cell: (entry: Activity) => [entry.organization, entry.workspace].filter(Boolean).join('/'),
              minWidth: 110,
            },
            { title: 'Details', cell: (entry) => <Details entry={entry} workspace={workspace} />, minWidth: 240 },
          ]}
        />
      )}
      {(after !== undefined || data?.next !== undefined) && (
        <Group component="nav" aria-label="Pages" gap="xs" mt="sm">
          <Button variant="default" disabled={after === undefined} onClick={() => set('after', '')}>
            Newest
          </Button>
          <Button
            variant="default"
            disabled={data?.next === undefined}
            onClick={() =>
              void navigate({ to: pathname, search: { ...search, after: data?.next } as never }).then(() =>
                scrollTo({ top: 0 }),
              )
            }
          >
            Older
          </Button>
        </Group>
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

/** The change in words, with its code as a hint. */
const Sentence = ({ entry }: { readonly entry: Activity }) => (
  <span title={entry.action}>
    <b>
      <bdi>{entry.actor.name ?? entry.actor.kind}</bdi>
    </b>{' '}
    <bdi dir="auto">{describeActivity(entry)}</bdi>
    {entry.actor.name !== null && entry.actor.name !== entry.actor.kind && (
      <Text span size="xs" c="dimmed">
        {' '}
        · {entry.actor.kind}
      </Text>
    )}
  </span>
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
