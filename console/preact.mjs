// The interface of React, implemented by Preact: the build resolves `react` to this file.
import { createElement } from 'preact/compat';

export * from 'preact/compat';
export { default } from 'preact/compat';

/** React's `Activity`, which Mantine uses for panels that are hidden: they keep their state. Their effects go on. */
export const Activity = ({ mode, children }) =>
  createElement('div', { style: { display: mode === 'hidden' ? 'none' : 'contents' } }, children);
