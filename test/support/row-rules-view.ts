// What row rules make of the records of a user, for requests that are drawn.
import type { Drawn } from './row-rules-arbitrary.ts';
import { type Claims, type Model, makeRowModel, type Rec } from './row-rules-read-model.ts';

export interface View {
  visible(entity: string): readonly Rec[];
  /** Whether a create sets the column. */
  isStamped(entity: string, column: string): boolean;
}

export function makeView(schema: ReadonlyMap<string, Drawn>, model: Model, claims: Claims): View {
  return {
    visible: makeRowModel(model, claims).visible,
    isStamped: (entity, column) =>
      schema.get(entity)?.rules.some((rule) => rule.enabled && rule.column === column) === true,
  };
}
