// One region that says in words what has happened, for those who hear the page and those who see it.
import { useSyncExternalStore } from 'react';

let text = '';
const listeners = new Set<() => void>();

/** Says something once: "Saved", "3 records deleted". It replaces what was said before. */
export function announce(words: string): void {
  // The same words twice are heard twice.
  text = words === text ? `${words} ` : words;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** The live region; a screen that shows the words itself reads them by `useSaid`. */
export function LiveRegion() {
  const said = useAnnouncement();
  return (
    <div role="status" aria-live="polite" className="visually-hidden">
      {said}
    </div>
  );
}

export const useAnnouncement = (): string => useSyncExternalStore(subscribe, () => text);
