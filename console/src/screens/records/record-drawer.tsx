// Record in a drawer over the grid, with its neighbours in the order of the list. The parameter `record` of the address
// has its id, so the list stays where it is, and Back closes the drawer.
import './record-drawer.css';
import { ActionIcon, Drawer, Group, Loader } from '@mantine/core';
import { lazy, Suspense, useEffect, useEffectEvent } from 'react';
import type { EntityDocument } from '../../api/schema.ts';
import { fetchRows } from '../../records/requests.ts';
import { Icon } from '../../shell/icon.tsx';
import type { RecordsState } from './use-records.ts';

const RecordView = lazy(async () => ({ default: (await import('../record/record-view.tsx')).RecordView }));

export interface RecordDrawerProps {
  readonly state: RecordsState;
  readonly entity: EntityDocument;
  readonly id: string;
  /** Opens another record of the list; undefined closes the drawer. */
  readonly onOpen: (id: string | undefined) => void;
}

export function RecordDrawer({ state, entity, id, onOpen }: RecordDrawerProps) {
  const { entityRef, rows, count, control, list, fields } = state;
  const index = rows?.indexOf(id) ?? -1;
  const next = index >= 0 && index + 1 < count.rows ? index + 1 : undefined;
  const previous = index > 0 ? index - 1 : undefined;
  async function go(to: number | undefined): Promise<void> {
    if (to === undefined || rows === undefined) return;
    await rows.load(to, to + 1);
    const row = rows.get(to);
    if (row === undefined) return;
    control.send({ kind: 'go', to: { row: to, column: control.state.focus.column } });
    onOpen(row.id);
  }
  const onKey = useEffectEvent((event: KeyboardEvent): void => {
    if (!event.altKey || (event.key !== 'PageDown' && event.key !== 'PageUp')) return;
    event.preventDefault();
    void go(event.key === 'PageDown' ? next : previous);
  });
  // Listens on the page, as a button that a save disables loses the focus.
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  // The list has the record as it is now, marked where its filter excludes it.
  async function refresh(): Promise<void> {
    for (const row of await fetchRows(entityRef, list.applied, fields, [id]).catch(() => [])) rows?.replace(row);
  }
  return (
    <Drawer.Root opened onClose={() => onOpen(undefined)} position="right" size="min(680px, 100%)">
      <Drawer.Overlay backgroundOpacity={0.2} />
      <Drawer.Content>
        <Suspense fallback={<Loader m="md" aria-label="Loading" />}>
          <RecordView
            key={id}
            entityRef={entityRef}
            entity={entity}
            id={id}
            onStored={() => void refresh()}
            onDeleted={() => {
              onOpen(undefined);
              state.reload();
            }}
            renderFrame={({ title, actions, children }) => (
              <>
                <Drawer.Header className="record-drawer-head">
                  <Drawer.Title fw={600}>
                    <bdi>{title}</bdi>
                  </Drawer.Title>
                  <Group gap={4} wrap="nowrap">
                    <Step name="Previous record" keys="Alt+PageUp" icon="up" to={previous} onStep={go} />
                    <Step name="Next record" keys="Alt+PageDown" icon="down" to={next} onStep={go} />
                    <Drawer.CloseButton aria-label="Close" />
                  </Group>
                </Drawer.Header>
                <Drawer.Body className="record-drawer-body">
                  {actions !== null && <Group mb="xs">{actions}</Group>}
                  {children}
                </Drawer.Body>
              </>
            )}
          />
        </Suspense>
      </Drawer.Content>
    </Drawer.Root>
  );
}

interface StepProps {
  readonly name: string;
  readonly keys: string;
  readonly icon: 'up' | 'down';
  readonly to: number | undefined;
  readonly onStep: (to: number | undefined) => Promise<void>;
}

const Step = ({ name, keys, icon, to, onStep }: StepProps) => (
  <ActionIcon
    variant="default"
    aria-label={name}
    title={`${name} (${keys})`}
    disabled={to === undefined}
    onClick={() => void onStep(to)}
  >
    <Icon name={icon} />
  </ActionIcon>
);
