// Navigation of a workspace: its entities with a search, and its other screens.
import { NavLink, ScrollArea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState } from 'react';
import { schemaQuery } from '../api/schema.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { listDestinations } from './destinations.ts';
import { ErrorAlert } from './error-alert.tsx';
import { Icon } from './icon.tsx';
import { useMayAdminister } from './permissions.ts';

const ROW = 30;

export function Navigation({ workspace }: { readonly workspace: WorkspaceRef }) {
  const mayAdminister = useMayAdminister();
  const { pathname } = useLocation();
  const schema = useQuery(schemaQuery(workspace));
  const [typed, setTyped] = useState('');
  const scroller = useRef<HTMLDivElement>(null);
  const names = [...(schema.data?.entities.keys() ?? [])].filter((name) =>
    name.toLowerCase().includes(typed.trim().toLowerCase()),
  );
  const rows = useVirtualizer({
    count: names.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const ways = listDestinations(workspace, mayAdminister, schema.data?.entities.keys().next().value);
  const isAt = (to: string): boolean => pathname === to || pathname.startsWith(`${to}/`);
  return (
    <>
      <NavLink
        component={Link}
        to={screenPath(workspace)}
        activeOptions={{ exact: true }}
        label="Overview"
        leftSection={<Icon name="table" />}
        active={pathname.replace(/\/$/, '') === screenPath(workspace)}
      />
      <TextInput
        aria-label="Find an entity"
        placeholder="Find an entity"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        my={6}
        onClick={(event) => event.stopPropagation()}
      />
      <ErrorAlert error={schema.error} />
      <ScrollArea flex={1} viewportRef={scroller} type="auto">
        <div style={{ height: rows.getTotalSize(), position: 'relative' }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const name = names[index] as string;
            const to = screenPath(workspace, `/data/${name}`);
            return (
              <div key={name} style={{ position: 'absolute', insetInline: 0, top: start, height: ROW }}>
                <NavLink component={Link} to={to} label={<bdi>{name}</bdi>} active={isAt(to)} py={4} />
              </div>
            );
          })}
        </div>
      </ScrollArea>
      {ways.map(({ to, label, icon, activePath }) => (
        <NavLink
          key={label}
          component={Link}
          to={to}
          label={label}
          leftSection={<Icon name={icon} />}
          active={isAt(activePath)}
          py={4}
        />
      ))}
    </>
  );
}
