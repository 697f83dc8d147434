// Focuses the first input of something just added, with its text selected.
import { type RefObject, useEffect, useRef } from 'react';

/** For the `ref` of an input. `isAdded`: it is on the page because somebody has just asked for it. */
export function useFocusWhenAdded(isAdded: boolean): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!isAdded) return;
    input.current?.focus();
    input.current?.select();
  }, [isAdded]);
  return input;
}
