// Stores for values outside React, which components subscribe to.
import { useSyncExternalStore } from 'react';

/** Source of change events; `revision` increases with each. */
export class Observable {
  readonly #listeners = new Set<() => void>();
  #revision = 0;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly revision = (): number => this.#revision;

  protected notify(): void {
    this.#revision++;
    for (const listener of this.#listeners) listener();
  }

  protected removeListeners(): void {
    this.#listeners.clear();
  }
}

class Store<T> extends Observable {
  #value: T;

  constructor(value: T) {
    super();
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  readonly set = (value: T): void => {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.notify();
  };

  /** Hook with the value; a change renders the component again. */
  readonly use = (): T => useSyncExternalStore(this.subscribe, this.get);
}

export const createStore = <T>(value: T): Store<T> => new Store(value);
