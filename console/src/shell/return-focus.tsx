// Return of the focus from a dialog that is mounted as it opens: a dialog of Mantine returns it only if it was mounted before.
import { type ReactNode, useEffect, useRef } from 'react';

/** Gives the focus back, when it unmounts, to the element that had it when it was mounted. */
export function ReturnFocus({ children }: { readonly children: ReactNode }) {
  const before = useRef(document.activeElement);
  useEffect(
    () => () => {
      if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    },
    [],
  );
  return children;
}
