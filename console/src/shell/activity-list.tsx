// Who changed what, as a table that grows by pages; the filters stand in the address bar.
import { Anchor, Button, Code, Group, Table, Text, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import type { KeyboardEvent } from 'react';
import { getAll, parseSearch } from '../address.ts';
import { type ActivityFilter, activityPath, activityQuery, type Entry } from '../api/activity.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { workspaceOption } from '../snippets/admin.ts';
import { quoteShell } from '../snippets/snippets.ts';
import { CopyReadAs } from './copy-as.tsx';
import { DateTime } from './datetime.tsx';
import { ErrorAlert } from './error-alert.tsx';
import { WideTable } from './wide-table.tsx';

const FILTERS = [
  { name: 'actor', placeholder: 'name or id' },
  { name: 'action', placeholder: 'apiKeys, schema.update' },
  { name: 'entity', placeholder: 'orders' },
] as const;

// Characters of the details of an entry.
const LONGEST = 400;

/** Of a workspace, or, without a place, of everything. */
export function ActivityList({ place }: { readonly place?: WorkspaceRef }) {
  const { searchStr, pathname } = useLocation();
  const navigate = useNavigate();
  const search = parseSearch(searchStr);
  const asked = (name: string): string | undefined => getAll(search, name)[0];
  const filter = { actor: asked('actor'), action: asked('action'), entity: asked('entity') };
  const pages = useInfiniteQuery(activityQuery(place, filter));
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
            key={name + asked(name)}
            label={name}
            placeholder={placeholder}
            defaultValue={asked(name) ?? ''}
            onBlur={(event) =>
              event.currentTarget.value !== (asked(name) ?? '') && set(name, event.currentTarget.value)
            }
            onKeyDown={(event: KeyboardEvent<HTMLInputElement>) =>
              event.key === 'Enter' && set(name, event.currentTarget.value)
            }
          />
        ))}
        <CopyReadAs path={activityPath(place, filter)} wda={command(place, filter)} />
      </Group>
      <ErrorAlert error={pages.error} onRetry={() => void pages.refetch()} />
      {pages.data !== undefined && entries.length === 0 && <Text size="sm">No changes match.</Text>}
      {entries.length > 0 && (
        <WideTable label="Activity" minWidth={place === undefined ? 960 : 840}>
          <Table aria-label="Activity" verticalSpacing={4}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th miw={120}>Who</Table.Th>
                <Table.Th miw={160}>Did</Table.Th>
                {place === undefined && <Table.Th miw={110}>Where</Table.Th>}
                <Table.Th miw={140}>To</Table.Th>
                <Table.Th miw={240}>More</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {entries.map((entry) => (
                <Line key={entry.id} entry={entry} place={place} />
              ))}
            </Table.Tbody>
          </Table>
        </WideTable>
      )}
      {pages.hasNextPage && (
        <Button variant="default" mt="sm" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
          Load more
        </Button>
      )}
    </>
  );
}

function command(place: WorkspaceRef | undefined, filter: ActivityFilter): string {
  const options = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [` --${name} ${quoteShell(value)}`],
  );
  return `activity ${place === undefined ? '--all' : workspaceOption(place)}${options.join('')}`;
}

function Line({ entry, place }: { readonly entry: Entry; readonly place: WorkspaceRef | undefined }) {
  const { at, actor, action, organization, workspace, entity, subject, details } = entry;
  const migration = details !== null && Object.hasOwn(details, 'migration') ? details.migration : undefined;
  const to = [...new Set([entity, subject])].filter((one) => one !== null && one !== undefined).join(' · ');
  return (
    <Table.Tr>
      <Table.Td>
        <DateTime instant={at} />
      </Table.Td>
      <Table.Td>
        <bdi>{actor.name ?? actor.kind}</bdi>{' '}
        {actor.name !== null && actor.name !== actor.kind && (
          <Text span size="xs" c="dimmed">
            {actor.kind}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Code>{action}</Code>
      </Table.Td>
      {place === undefined && <Table.Td>{[organization, workspace].filter((one) => one !== null).join('/')}</Table.Td>}
      <Table.Td>
        <bdi dir="auto">{to}</bdi>
      </Table.Td>
      <Table.Td>
        {place !== undefined && (typeof migration === 'number' || typeof migration === 'string') ? (
          <Anchor component={Link} size="sm" to={`/${place.org}/${place.ws}/migrations/${migration}`}>
            Migration {migration}
          </Anchor>
        ) : (
          details !== null &&
          Object.keys(details).length > 0 && (
            <Code style={{ whiteSpace: 'pre-wrap', wordBreak: 'break-all' }}>{cut(JSON.stringify(details))}</Code>
          )
        )}
      </Table.Td>
    </Table.Tr>
  );
}

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
