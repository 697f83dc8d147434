// Users whose rights are drawn at random, as the fuzz of access sees them. Only this file knows that they are row rules.
import type { GeneratorValue } from 'fast-check';
import { type Drawn, drawClaims, drawRules } from './row-rules-arbitrary.ts';
import { type Model, makeRowModel } from './row-rules-read-model.ts';
import { makeView, type View } from './row-rules-view.ts';

export interface Principal {
  /** Of the token. */
  readonly claims: object;
  /** Whether the record is hidden, as the records are now. */
  isHidden(model: Model, entity: string, id: number): boolean;
  /** What the principal sees, for requests to draw. */
  view(model: Model): View;
  /** In words. */
  readonly description: object;
}

/** Puts rules on the entities, and draws the claims of a user. */
export function drawPrincipal(g: GeneratorValue, entities: ReadonlyMap<string, Drawn>): Principal {
  drawRules(g, entities);
  const claims = drawClaims(g);
  const rules = Object.fromEntries([...entities].map(([name, entity]) => [name, entity.rules]));
  return {
    claims,
    isHidden: (model, entity, id) =>
      !makeRowModel(model, claims)
        .visible(entity)
        .some((record) => record.id === id),
    view: (model) => makeView(entities, model, claims),
    description: { claims, rules },
  };
}
