// Focuses the first input of something just added, with its text selected.
import { type RefObject, useEffect, useRef } from 'react';

/** Returns the `ref` of an input. `isAdded`: the user has just added it. */
export function useFocusWhenAdded(isAdded: boolean): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!isAdded) return;
    input.current?.focus();
    input.current?.select();
  }, [isAdded]);
  return input;
}
