// Names that stand in an input and cannot be taken: until they are mended the draft is not what its author means.
import { useEffect, useId } from 'react';
import { createStore } from '../store.ts';

/** Why each cannot be taken, by the id of its input. */
const reasons = createStore<ReadonlyMap<string, string>>(new Map());

/** For an input: `reason` is why its text cannot be taken; it is forgotten with the input. */
export function useInvalidName(reason: string | undefined): void {
  const id = useId();
  useEffect(() => {
    if (reason === undefined) return;
    reasons.set(new Map(reasons.get()).set(id, reason));
    return () => reasons.set(new Map([...reasons.get()].filter(([other]) => other !== id)));
  }, [id, reason]);
}

/** Why the draft cannot be planned; undefined: every name can be taken. */
export const useInvalidNameReason = (): string | undefined => reasons.use().values().next().value;
