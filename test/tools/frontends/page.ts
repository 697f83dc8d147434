// A page in this process, and hooks that are rendered in it. Imported before React, which looks for a page at once.
import assert from 'node:assert/strict';
import { JSDOM } from 'jsdom';
import { until } from '../../support/wait-until.ts';

const { window } = new JSDOM('<!doctype html><body></body>', { url: 'http://localhost/', pretendToBeVisual: true });
for (const name of ['window', 'document', 'navigator', 'Node', 'HTMLElement', 'HTMLInputElement', 'Event'] as const) {
  const value = name === 'window' ? window : window[name];
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}
const { createElement } = await import('react');
const { createRoot } = await import('react-dom/client');
type Element = import('react').ReactElement;

/** Options of query clients: nothing is asked twice, and no timer holds the process. */
export const QUERY_DEFAULTS = {
  queries: { gcTime: Number.POSITIVE_INFINITY, retry: false },
  mutations: { gcTime: Number.POSITIVE_INFINITY },
};

export interface Mounted<T> {
  /** What the hook gave last. */
  now(): T;
  /** Waits until it gives what is wanted. */
  until(what: string, holds: (value: T) => boolean): Promise<T>;
}

/** Renders what `wrap` puts around a component; `use` gets what its hook gives, and the page is gone afterwards. */
export async function withHook<T>(
  wrap: (child: Element) => Element,
  useHook: () => T,
  use: (mounted: Mounted<T>) => Promise<void>,
): Promise<void> {
  const given: T[] = [];
  const Component = () => {
    given.push(useHook());
    return null;
  };
  const now = (): T => given.at(-1) as T;
  await withPage(wrap(createElement(Component)), async () => {
    await until('the component is rendered', () => given.length > 0);
    await use({
      now,
      until: async (what, holds) => {
        await until(what, () => holds(now()));
        return now();
      },
    });
  });
}

/** Renders an element; the page is gone afterwards. */
export async function withPage(element: Element, use: (body: HTMLElement) => Promise<void>): Promise<void> {
  const place = document.createElement('div');
  document.body.append(place);
  const root = createRoot(place);
  root.render(element);
  try {
    await use(place);
  } finally {
    root.unmount();
    place.remove();
  }
}

/** Types a text into the input with this name. */
export function type(page: HTMLElement, name: string, text: string): void {
  const input = page.querySelector<HTMLInputElement>(`input[name="${name}"]`);
  assert.ok(input, page.innerHTML);
  // React sees a value only when it is set past its own setter.
  Object.getOwnPropertyDescriptor(window.HTMLInputElement.prototype, 'value')?.set?.call(input, text);
  input.dispatchEvent(new window.Event('input', { bubbles: true }));
}

/** Sends the form. */
export const submit = (page: HTMLElement): void => page.querySelector<HTMLButtonElement>('button')?.click();
