// The interface of React, implemented by Preact: the build resolves `react` to this file.
export * from 'preact/compat';
export { default } from 'preact/compat';

/** React's `Activity`, which Mantine uses for panels that are hidden: here they are unmounted. */
export const Activity = ({ mode, children }) => (mode === 'hidden' ? null : children);
