// Keyboard shortcuts of the page and of its screen.
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

/** Whether the list of shortcuts is shown. */
export const shortcutsStore = createStore(false);

/** Opens the list of shortcuts, as Ctrl+/ does. */
export const openShortcuts = (): void => shortcutsStore.set(true);

/** Hook that returns the shortcuts of the screen, and those of every screen. */
export const useShortcuts = (): readonly Shortcut[] => [...ofScreen.use(), ...EVERYWHERE];

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
