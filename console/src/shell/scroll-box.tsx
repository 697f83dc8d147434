// Region that scrolls, also by keyboard. It has the bars of the browser: those of Mantine take 7 kB of script.
import type { CSSProperties, ReactNode } from 'react';

export interface ScrollBoxProps {
  /** Accessible name of the region. */
  readonly label: string;
  /** Height in pixels, or with a unit, above which it scrolls. */
  readonly maxHeight?: CSSProperties['maxHeight'];
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

export const ScrollBox = ({ label, maxHeight, className, children }: ScrollBoxProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: keys could not scroll a region without controls
  <section aria-label={label} tabIndex={0} className={className} style={{ maxHeight, overflow: 'auto' }}>
    {children}
  </section>
);
