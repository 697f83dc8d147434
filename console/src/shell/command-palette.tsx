// Command palette (Ctrl+K). Default export for lazy loading.

import { Group, Modal, ScrollArea, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type KeyboardEvent, useId, useState } from 'react';
import { organizationsQuery, workspaceSearchQuery } from '../api/organizations.ts';
import { schemaQuery } from '../api/schema.ts';
import type { Session } from '../api/types.ts';

import { screenPath, type WorkspaceRef } from '../api/workspace.ts';
import { schemaScreen, schemasQuery } from '../shared-schemas/shared-schemas-api.ts';
import classes from './command-palette.module.css';
import { listActions, listDestinations } from './destinations.ts';
import { type PaletteItem, searchPalette } from './palette-search.ts';
import { useMayAdminister, useMayWrite } from './permissions.ts';

export interface PaletteProps {
  readonly session: Session;
  readonly workspace: WorkspaceRef | undefined;
}

const NOWHERE: WorkspaceRef = { org: '', ws: '' };

function usePaletteItems({ session, workspace }: PaletteProps, typed: string): readonly PaletteItem[] {
  const schema = useQuery({ ...schemaQuery(workspace ?? NOWHERE), enabled: workspace !== undefined });
  const mayWrite = useMayWrite();
  const mayAdminister = useMayAdminister();
  const isOperator = session.kind === 'operator';
  const organizations = useQuery({ ...organizationsQuery(), enabled: isOperator });
  const [search] = useDebouncedValue(typed.trim(), 120);
  const matching = useQuery({ ...workspaceSearchQuery(search), enabled: isOperator });
  const workspaces = isOperator ? (matching.data?.list ?? []) : session.workspaces;
  const { org } = useParams({ strict: false }) as { readonly org?: string };
  const shared = useQuery({ ...schemasQuery(org ?? '', 0, 100), enabled: isOperator && org !== undefined });
  const names = workspace === undefined ? [] : [...(schema.data?.entities.keys() ?? [])];
  return [
    ...(workspace === undefined
      ? []
      : [
          ...names.map((name) => ({ label: name, kind: 'Entity', to: screenPath(workspace, `/data/${name}`) })),
          ...listDestinations(workspace, mayAdminister, names[0]).map(({ label, to }) => ({
            label,
            kind: 'Screen',
            to,
          })),
          { label: 'Overview', kind: 'Screen', to: screenPath(workspace) },
        ]),
    ...workspaces.map(({ organization, slug, name }) => ({
      label: name,
      detail: `${organization}/${slug}`,
      kind: 'Workspace',
      to: `/${organization}/${slug}`,
    })),
    ...(organizations.data?.list ?? []).map(({ slug, name }) => ({
      label: name,
      detail: slug,
      kind: 'Organization',
      to: `/${slug}`,
    })),
    ...(workspace === undefined
      ? []
      : listActions(workspace, { mayWrite, mayAdminister }, schema.data?.entities.values() ?? [])
    ).map((action) => ({ ...action, kind: 'Action' })),
    ...(shared.data?.list ?? []).map(({ name }) => ({
      label: name,
      detail: org ?? '',
      kind: 'Shared schema',
      to: schemaScreen({ org: org ?? '', name }),
    })),
    ...(isOperator && org !== undefined
      ? [{ label: 'Shared schemas', detail: org, kind: 'Screen', to: `/${org}/-/schemas` }]
      : []),
    ...(isOperator
      ? [
          { label: 'Organizations', kind: 'Screen', to: '/' },
          { label: 'Server', kind: 'Screen', to: '/server' },
        ]
      : []),
  ];
}

export default function CommandPalette({ onClose, ...props }: PaletteProps & { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const goals = usePaletteItems(props, typed);
  return (
    <Modal opened onClose={onClose} withCloseButton={false} title="Go to" padding="xs" yOffset="10vh" size={520}>
      <PaletteList goals={goals} typed={typed} onTyped={setTyped} onDone={onClose} />
    </Modal>
  );
}

interface PaletteListProps {
  readonly goals: readonly PaletteItem[];
  readonly typed: string;
  readonly onTyped: (typed: string) => void;
  readonly onDone: () => void;
}

function PaletteList({ goals, typed, onTyped, onDone }: PaletteListProps) {
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const id = useId();
  const items = searchPalette(goals, typed);
  const activeIndex = Math.min(at, items.length - 1);
  function go(goal: PaletteItem | undefined): void {
    if (goal === undefined) return;
    onDone();
    void navigate({ to: goal.to });
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') go(items[activeIndex]);
    else if (step !== 0) setAt(Math.max(0, Math.min(items.length - 1, activeIndex + step)));
    else return;
    event.preventDefault();
  }
  return (
    <>
      <TextInput
        aria-label="Go to"
        placeholder="Entity, screen or workspace"
        data-autofocus
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={items.length === 0 ? undefined : `${id}-${activeIndex}`}
        value={typed}
        onChange={(event) => {
          onTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ScrollArea.Autosize mah="50vh" mt="xs">
        <div id={id} role="listbox" aria-label="Results">
          {items.map((goal, index) => (
            <UnstyledButton
              key={goal.to + goal.label}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === activeIndex}
              className={classes.goal ?? ''}
              onClick={() => go(goal)}
            >
              <Group justify="space-between" wrap="nowrap">
                <Text size="sm" truncate dir="auto">
                  {goal.label}
                  {goal.detail !== undefined && goal.detail !== goal.label && (
                    <Text span size="xs" c="dimmed" ml={6}>
                      {goal.detail}
                    </Text>
                  )}
                </Text>
                <Text size="xs" c="dimmed">
                  {goal.kind}
                </Text>
              </Group>
            </UnstyledButton>
          ))}
        </div>
      </ScrollArea.Autosize>
      {items.length === 0 && (
        <Text size="sm" c="dimmed" p="xs" role="status">
          No results
        </Text>
      )}
    </>
  );
}
