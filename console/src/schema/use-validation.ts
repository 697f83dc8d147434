// Validation of the draft on the server while the user types: errors with their paths.
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ErrorDetail, isApiError } from '../api/api-error.ts';
import { planQuery } from '../api/migrations.ts';
import type { WorkspaceRef } from '../api/workspace.ts';
import { withoutSchemaLink } from './draft.ts';
import type { DraftState } from './use-draft.ts';

// Milliseconds without a key before the request.
const PAUSE_MS = 500;

export interface DraftValidation {
  readonly details: readonly ErrorDetail[];
  /** Error that is about no part of the document. */
  readonly error: unknown;
  readonly isChecked: boolean;
}

/** Requests the plan of the draft and keeps its errors. */
export function useValidation(workspace: WorkspaceRef, state: DraftState): DraftValidation {
  const [value] = useDebouncedValue(state.value, PAUSE_MS);
  const { error, isSuccess } = useQuery({
    ...planQuery(workspace, withoutSchemaLink(value), 'online'),
    enabled: state.isReadable && state.isChanged,
    staleTime: 30_000,
  });
  if (!state.isChanged || !state.isReadable) return { details: [], error: null, isChecked: false };
  const details = isApiError(error, 'VALIDATION_FAILED') ? error.details : [];
  return { details, error: details.length > 0 ? null : error, isChecked: isSuccess };
}

/** Returns the errors at a path or below it. */
export const filterErrors = (details: readonly ErrorDetail[], path: readonly string[]): readonly ErrorDetail[] => {
  const prefix = path.join('.');
  return details.filter(({ field }) => field === prefix || field?.startsWith(`${prefix}.`));
};
