// Live region that announces events to screen readers.
import { createStore } from '../store.ts';

const message = createStore('');

/** Replaces the former announcement: "Saved", "3 records deleted". */
export const announce = (text: string): void =>
  // An equal text has to differ, or it is not read again.
  message.set(text === message.get() ? `${text} ` : text);

/** Hook with the last announcement, for a screen that displays it as well. */
export const useAnnouncement = message.use;

export const LiveRegion = () => (
  <div role="status" aria-live="polite" className="visually-hidden">
    {message.use()}
  </div>
);
