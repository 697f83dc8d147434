// What the server says of a draft: its mistakes with their paths, while one types.
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type Detail, isRefusal } from '../api/api-error.ts';
import { planQuery } from '../api/migrations.ts';
import type { Place } from '../api/workspace.ts';
import { contentOf } from './draft.ts';
import type { DraftState } from './use-draft.ts';

// After it a pause in typing is one.
const PAUSE_MS = 500;

export interface DraftMistakes {
  readonly details: readonly Detail[];
  /** A refusal that is about no part of the document. */
  readonly error: unknown;
  readonly isChecked: boolean;
}

/** Asks for the plan of the draft, and keeps what is wrong with it. */
export function useMistakes(place: Place, state: DraftState): DraftMistakes {
  const [value] = useDebouncedValue(state.value, PAUSE_MS);
  const { error, isSuccess } = useQuery({
    ...planQuery(place, contentOf(value), 'online'),
    enabled: state.isReadable && state.isChanged,
    staleTime: 30_000,
  });
  if (!state.isChanged || !state.isReadable) return { details: [], error: null, isChecked: false };
  const details = isRefusal(error, 'VALIDATION_FAILED') ? error.details : [];
  return { details, error: details.length > 0 ? null : error, isChecked: isSuccess };
}

/** Mistakes at a path or below it. */
export const mistakesBelow = (details: readonly Detail[], path: readonly string[]): readonly Detail[] => {
  const prefix = path.join('.');
  return details.filter(({ field }) => field === prefix || field?.startsWith(`${prefix}.`));
};
