// State shared by the forms of an entity: the draft, the entity's path in it, and its errors.

import type { ErrorDetail } from '../api/api-error.ts';
import type { Json } from '../api/json.ts';
import { NAME } from './field-types.ts';
import { getAt, type Path, setAt } from './json-value.ts';
import type { DraftState } from './use-draft.ts';
import { filterErrors } from './use-validation.ts';

export interface EntityFormState {
  readonly state: DraftState;
  readonly path: Path;
  readonly details: readonly ErrorDetail[];
  /** Open field or relation: `fields.total`. */
  readonly open: string | undefined;
  readonly setOpen: (open: string | undefined) => void;
}

/** Creates a setter of values at a path of the entity; undefined removes one. */
export const createSetter =
  ({ state, path }: EntityFormState) =>
  (below: Path, value: Json | undefined): void =>
    state.setValue(setAt(state.value, [...path, ...below], value));

export const getValue = ({ state, path }: EntityFormState, below: Path): Json | undefined =>
  getAt(state.value, [...path, ...below]);

/** Returns the server's message about one member, for its input. */
export const getError = ({ details, path }: EntityFormState, below: Path): string | undefined => {
  const field = [...path, ...below].join('.');
  return details.find((one) => one.field === field)?.message;
};

export const listErrors = ({ details, path }: EntityFormState, below: Path): readonly ErrorDetail[] =>
  filterErrors(details, [...path, ...below]);

/** Creates a check that returns why a name is invalid, before the server validates it. */
export const checkName =
  (usedNames: readonly string[]) =>
  (text: string): string | undefined => {
    if (!NAME.test(text)) return 'A letter, then letters, digits or _, 63 at most';
    return usedNames.includes(text) ? 'Another one has this name' : undefined;
  };
