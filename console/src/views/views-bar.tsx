// Saved views above the records: a tab for each, and a menu that saves, renames, shares and deletes the one of the address.
import './views.css';
import { ActionIcon, Anchor, Button, Checkbox, Menu, NativeSelect, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { fieldError } from '../api/api-error.ts';
import type { View } from '../api/types.ts';
import { screenPath } from '../api/workspace.ts';
import type { ColumnLayout } from '../grid/columns.ts';
import type { EntityRef } from '../records/requests.ts';
import { ConfirmDialog, FormDialog } from '../shell/dialogs.tsx';
import { ErrorAlert } from '../shell/error-alert.tsx';
import { Icon } from '../shell/icon.tsx';
import { announce } from '../shell/live-region.tsx';
import { useIsOwner, useMayWrite } from '../shell/permissions.ts';
import { useAddress } from '../shell/use-address.ts';
import {
  getViewId,
  type Layout,
  listChanges,
  parsePresentation,
  parseViewState,
  toViewSearch,
  type ViewState,
} from './view-state.ts';
import { useViewWrites, viewsQuery } from './views-api.ts';

export interface ViewsBarProps {
  readonly entityRef: EntityRef;
  /** Columns that are shown; those of the address, or of the browser's memory. */
  readonly layout: ColumnLayout;
  readonly columnNames: readonly string[];
}

// Without it the router marks each link of the same path as current, whatever its view.
const ACTIVE = { exact: true, includeSearch: true } as const;

export function ViewsBar({ entityRef, layout, columnNames }: ViewsBarProps) {
  const { search, write } = useAddress();
  const { data } = useQuery(viewsQuery(entityRef));
  const views = data?.filter(({ entity }) => entity === entityRef.entity) ?? [];
  const id = getViewId(search);
  const current = views.find((view) => view.id === id);
  const state = parseViewState(search, layout);
  const path = screenPath(entityRef, `/data/${entityRef.entity}`);
  const gone = layout.visible?.filter((name) => !columnNames.includes(name)) ?? [];
  return (
    <>
      <div className="records-line">
        <nav aria-label="Views" className="views">
          <Anchor
            component={Link}
            to={path}
            size="sm"
            activeOptions={ACTIVE}
            aria-current={id === undefined ? 'page' : undefined}
          >
            All records
          </Anchor>
          {views.map((view) => (
            <Anchor
              key={view.id}
              component={Link}
              to={path}
              search={toViewSearch(view.id, view) as never}
              size="sm"
              activeOptions={ACTIVE}
              aria-current={view.id === id ? 'page' : undefined}
              title={view.shared ? 'Shared' : 'Private'}
            >
              <bdi>{view.name}</bdi>
              {!view.shared && <Icon name="key" size={12} />}
              {!view.shared && <span className="visually-hidden"> (private)</span>}
            </Anchor>
          ))}
        </nav>
        <LayoutPicker />
        <ViewActions entityRef={entityRef} state={state} current={current} />
      </div>
      {data !== undefined && id !== undefined && current === undefined && (
        <Text size="xs" c="dimmed" role="status">
          The view of this address is private or was deleted. Its filters, sort and columns are applied.
        </Text>
      )}
      {gone.length > 0 && (
        <ul className="records-line chips" aria-label="Columns that do not exist">
          {gone.map((name) => (
            <li key={name} className="chip" data-wrong>
              <span className="chip-text" title={`The entity has no column ${name}`}>
                <span className="visually-hidden">Invalid: </span>
                column <bdi>{name}</bdi> does not exist
              </span>
              <button
                type="button"
                aria-label={`Remove column ${name}`}
                onClick={() => {
                  const rest = layout.visible?.filter((one) => one !== name) ?? [];
                  write({ fields: rest.length === 0 ? undefined : rest.join(',') });
                }}
              >
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const LAYOUT_WORDS: Readonly<Partial<Record<Layout, string>>> = {
  grid: 'Grid',
  board: 'Board',
  calendar: 'Calendar',
  chart: 'Chart',
};

/** Choice of the layout; another one begins with fields of its own. */
function LayoutPicker() {
  const { search, write } = useAddress();
  const { layout } = parsePresentation(search);
  return (
    <NativeSelect
      aria-label="Layout"
      size="xs"
      value={layout}
      data={Object.entries(LAYOUT_WORDS).map(([value, label]) => ({ value, label }))}
      onChange={(event) =>
        write(
          { layout: event.currentTarget.value === 'grid' ? undefined : event.currentTarget.value, group: undefined },
          false,
        )
      }
    />
  );
}

type Dialog = 'saveAs' | 'rename' | 'delete';

interface ViewActionsProps {
  readonly entityRef: EntityRef;
  readonly state: ViewState;
  readonly current: View | undefined;
}

function ViewActions({ entityRef, state, current }: ViewActionsProps) {
  const navigate = useNavigate();
  const writes = useViewWrites(entityRef);
  const mayWrite = useMayWrite();
  const isOwner = useIsOwner();
  const [dialog, setDialog] = useState<Dialog>();
  const update = useMutation({
    mutationFn: ({ view, change }: { readonly view: View; readonly change: Partial<View> }) =>
      writes.update(view, change),
    onSuccess: (view) => announce(`View ${view.name} is saved`),
  });
  const changes = current === undefined ? undefined : listChanges(current, state);
  const open = (id: number | undefined, view: ViewState): void =>
    void navigate({ to: '.', search: toViewSearch(id, view) as never });
  if (!mayWrite)
    return current !== undefined && changes !== undefined ? (
      <Unsaved onDiscard={() => open(current.id, current)} />
    ) : null;
  const mayChange = current !== undefined && (current.own || isOwner);
  return (
    <>
      {current !== undefined && changes !== undefined && (
        <Unsaved
          onDiscard={() => open(current.id, current)}
          {...(mayChange && {
            onSave: () => update.mutate({ view: current, change: changes }),
            isSaving: update.isPending,
          })}
        />
      )}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon aria-label="View actions" title="View actions">
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setDialog('saveAs')}>Save as a new view</Menu.Item>
          {mayChange && (
            <>
              <Menu.Item onClick={() => setDialog('rename')}>Rename</Menu.Item>
              <Menu.Item onClick={() => update.mutate({ view: current, change: { shared: !current.shared } })}>
                {current.shared ? 'Stop sharing' : 'Share with the workspace'}
              </Menu.Item>
              {current.layout === 'chart' && (
                <Menu.Item onClick={() => update.mutate({ view: current, change: { overview: !current.overview } })}>
                  {current.overview ? 'Remove from the overview' : 'Pin to the overview'}
                </Menu.Item>
              )}
              <Menu.Item color="red" onClick={() => setDialog('delete')}>
                Delete view
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <ErrorAlert error={update.error} />
      <FormDialog
        title="Save as a new view"
        action="Save"
        isOpen={dialog === 'saveAs'}
        fields={['name']}
        onClose={() => setDialog(undefined)}
        onSubmit={async (data) => {
          const named = { name: String(data.get('name')), shared: data.get('shared') === 'on' };
          const view = await writes.create({ entity: entityRef.entity, ...named, ...state });
          setDialog(undefined);
          open(view.id, view);
        }}
      >
        {(error) => (
          <>
            <NameInput error={error} />
            <Checkbox name="shared" label="Shared with all who see the workspace" />
          </>
        )}
      </FormDialog>
      {current !== undefined && (
        <>
          <FormDialog
            title="Rename the view"
            action="Rename"
            isOpen={dialog === 'rename'}
            fields={['name']}
            onClose={() => setDialog(undefined)}
            onSubmit={async (data) => {
              await writes.update(current, { name: String(data.get('name')) });
              setDialog(undefined);
            }}
          >
            {(error) => <NameInput error={error} name={current.name} />}
          </FormDialog>
          <ConfirmDialog
            title={`Delete the view ${current.name}?`}
            action="Delete"
            isOpen={dialog === 'delete'}
            consequences={current.shared ? ['Others lose it, too.', 'The records stay.'] : ['The records stay.']}
            onClose={() => setDialog(undefined)}
            onSubmit={async () => {
              await writes.remove(current);
              setDialog(undefined);
              open(undefined, state);
            }}
          />
        </>
      )}
    </>
  );
}

interface UnsavedProps {
  readonly onDiscard: () => void;
  /** Undefined for a view of another, which can only be saved as a new one. */
  readonly onSave?: () => void;
  readonly isSaving?: boolean;
}

const Unsaved = ({ onDiscard, onSave, isSaving = false }: UnsavedProps) => (
  <>
    <Text size="xs" c="dimmed">
      Unsaved changes
    </Text>
    {onSave !== undefined && (
      <Button size="compact-xs" onClick={onSave} loading={isSaving}>
        Save view
      </Button>
    )}
    <Button size="compact-xs" variant="default" onClick={onDiscard}>
      Discard changes
    </Button>
  </>
);

const NameInput = ({ error, name = '' }: { readonly error: unknown; readonly name?: string }) => (
  <TextInput
    label="Name"
    name="name"
    defaultValue={name}
    error={fieldError(error, 'name')}
    maxLength={200}
    data-autofocus
    required
    dir="auto"
  />
);
