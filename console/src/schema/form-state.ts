// What the forms of an entity share: the draft, where the entity stands in it, and its mistakes.

import type { Detail } from '../api/api-error.ts';
import type { Json } from '../api/json.ts';
import { NAME } from './field-types.ts';
import { at, type Path, withAt } from './json-value.ts';
import type { DraftState } from './use-draft.ts';
import { mistakesBelow } from './use-validation.ts';

export interface EntityFormState {
  readonly state: DraftState;
  readonly path: Path;
  readonly details: readonly Detail[];
  /** Which field or relation is open: `fields.total`. */
  readonly open: string | undefined;
  readonly setOpen: (open: string | undefined) => void;
}

/** Sets what stands at a path of the entity; undefined takes it away. */
export const setter =
  ({ state, path }: EntityFormState) =>
  (below: Path, value: Json | undefined): void =>
    state.setValue(withAt(state.value, [...path, ...below], value));

export const valueBelow = ({ state, path }: EntityFormState, below: Path): Json | undefined =>
  at(state.value, [...path, ...below]);

/** The server's words about one member, for its input. */
export const mistakeAt = ({ details, path }: EntityFormState, below: Path): string | undefined => {
  const field = [...path, ...below].join('.');
  return details.find((one) => one.field === field)?.message;
};

export const mistakesAt = ({ details, path }: EntityFormState, below: Path): readonly Detail[] =>
  mistakesBelow(details, [...path, ...below]);

/** Why a name cannot be given, before the server is asked. */
export const nameRefusal =
  (taken: readonly string[]) =>
  (text: string): string | undefined => {
    if (!NAME.test(text)) return 'A letter, then letters, digits or _, 63 at most';
    return taken.includes(text) ? 'Another one has this name' : undefined;
  };
