// The interface of React, implemented by Preact: the build resolves `react` to this file.
import { createElement, useRef } from 'preact/compat';

export * from 'preact/compat';
export { default } from 'preact/compat';

/**
 * React's `Activity`, which Mantine uses for panels that are hidden: they keep their state once they have been visible, and
 * are not rendered before. Their effects go on.
 */
export function Activity({ mode, children }) {
  const wasVisible = useRef(false);
  if (mode !== 'hidden') wasVisible.current = true;
  if (!wasVisible.current) return null;
  return createElement('div', { style: { display: mode === 'hidden' ? 'none' : 'contents' } }, children);
}
