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

/** Returns whether there is less space to the right of an element's left edge than `width` pixels, in the grid around it. */
export function useOpensLeftward(element: { readonly current: HTMLElement | null }, width: number): boolean {
  const [isLeft, setLeft] = useState(false);
  useEffect(() => {
    const around = element.current?.closest('.grid')?.getBoundingClientRect();
    const left = element.current?.getBoundingClientRect().left ?? 0;
    setLeft(around !== undefined && left + width > around.right);
  }, [element, width]);
  return isLeft;
}
