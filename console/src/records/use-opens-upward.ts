import { useEffect, useState } from 'react';

/** Returns whether there is more space above an element than below it, in the grid around it or in the window. */
export function useOpensUpward(element: { readonly current: HTMLElement | null }, isOn: boolean): boolean {
  const [isUp, setUp] = useState(false);
  useEffect(() => {
    if (!isOn || element.current === null) return;
    const around = element.current.closest('.grid')?.getBoundingClientRect();
    const { top, bottom } = element.current.getBoundingClientRect();
    const below = (around?.bottom ?? innerHeight) - bottom;
    setUp(below < 230 && top - (around?.top ?? 0) > below);
  }, [element, isOn]);
  return isUp;
}
