// Keyboard shortcuts for the whole page: Ctrl+K opens the palette, Ctrl+/ and ? list the shortcuts of the screen.
import { Kbd, Modal, Table } from '@mantine/core';
import { useEffect } from 'react';
import { createStore } from '../store.ts';

export interface Shortcut {
  /** Combination such as `Ctrl+K`. */
  readonly keys: string;
  readonly description: string;
}

const EVERYWHERE: readonly Shortcut[] = [
  { keys: 'Ctrl+K', description: 'Go to an entity or a screen' },
  { keys: 'Ctrl+/', description: 'Show these keys; outside of fields and cells also ?' },
];

const ofScreen = createStore<readonly Shortcut[]>([]);

const listStore = createStore(false);

/** Opens the list of shortcuts, as Ctrl+/ does. */
export const openShortcuts = (): void => listStore.set(true);

/** Registers the shortcuts of the screen while it is mounted. `lines` is a constant of the screen. */
export function useScreenShortcuts(lines: readonly Shortcut[]): void {
  useEffect(() => {
    ofScreen.set(lines);
    return () => ofScreen.set([]);
  }, [lines]);
}

/** Returns whether the focused element handles the key itself, as inputs do. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export function ShortcutsDialog() {
  const isOpen = listStore.use();
  const lines = [...ofScreen.use(), ...EVERYWHERE];
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isControl = event.ctrlKey || event.metaKey;
      if (isControl ? event.key !== '/' : event.key !== '?' || isTyping(event.target)) return;
      event.preventDefault();
      openShortcuts();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <Modal opened={isOpen} onClose={() => listStore.set(false)} title="Keys">
      <Table>
        <Table.Tbody>
          {lines.map(({ keys, description }) => (
            <Table.Tr key={keys + description}>
              <Table.Th scope="row">
                {keys.split('+').map((key, at) => (
                  <span key={key}>
                    {at > 0 && '+'}
                    <Kbd>{key}</Kbd>
                  </span>
                ))}
              </Table.Th>
              <Table.Td>{description}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
