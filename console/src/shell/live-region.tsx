// One live region that says what has happened, for screen readers.
import { createStore } from '../store.ts';

const message = createStore('');

/** Replaces what was announced before: "Saved", "3 records deleted". */
export const announce = (text: string): void =>
  // The same text twice is read twice.
  message.set(text === message.get() ? `${text} ` : text);

/** The last announcement, for a screen that shows it as well. */
export const useAnnouncement = message.use;

export const LiveRegion = () => (
  <div role="status" aria-live="polite" className="visually-hidden">
    {message.use()}
  </div>
);
