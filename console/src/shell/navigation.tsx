// Navigation of a workspace: its entities with a search, and its other screens.
import { NavLink, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { useState } from 'react';
import { schemaQuery } from '../api/schema.ts';
import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { listDestinations } from './destinations.ts';
import { ErrorAlert } from './error-alert.tsx';
import { Icon } from './icon.tsx';
import { useMayAdminister } from './permissions.ts';

const ROW = 30;
// Rows beyond the visible ones, so that the next keys and turns of the wheel find links.
const OVERSCAN = 8;
// Rows that are visible at most: those of a screen 1,800 pixels high.
const VISIBLE = 60;

export function Navigation({ workspace }: { readonly workspace: WorkspaceRef }) {
  const mayAdminister = useMayAdminister();
  const { pathname } = useLocation();
  const schema = useQuery(schemaQuery(workspace));
  const [typed, setTyped] = useState('');
  const [scrolled, setScrolled] = useState(0);
  const names = [...(schema.data?.entities.keys() ?? [])].filter((name) =>
    name.toLowerCase().includes(typed.trim().toLowerCase()),
  );
  const first = Math.max(0, Math.min(Math.floor(scrolled / ROW), names.length - VISIBLE) - OVERSCAN);
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
      <div
        style={{ flex: 1, minHeight: 0, overflowY: 'auto' }}
        onScroll={({ currentTarget }) => setScrolled(currentTarget.scrollTop)}
      >
        <div style={{ height: names.length * ROW, paddingTop: first * ROW }}>
          {names.slice(first, first + VISIBLE + 2 * OVERSCAN).map((name) => {
            const to = screenPath(workspace, `/data/${name}`);
            return (
              <div key={name} style={{ height: ROW }}>
                <NavLink component={Link} to={to} label={<bdi>{name}</bdi>} active={isAt(to)} py={4} />
              </div>
            );
          })}
        </div>
      </div>
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
