// Invalid names in inputs: until they are corrected the draft does not have what its author typed.
import { useEffect, useId } from 'react';
import { createStore } from '../store.ts';

/** Error messages by the id of the input. */
const reasons = createStore<ReadonlyMap<string, string>>(new Map());

/** Registers an invalid name while its input is mounted; `reason` is the error message. */
export function useInvalidName(reason: string | undefined): void {
  const id = useId();
  useEffect(() => {
    if (reason === undefined) return;
    reasons.set(new Map(reasons.get()).set(id, reason));
    return () => reasons.set(new Map([...reasons.get()].filter(([other]) => other !== id)));
  }, [id, reason]);
}

/** Returns why the draft cannot be planned, or undefined if all names are valid. */
export const useInvalidNameReason = (): string | undefined => reasons.use().values().next().value;
