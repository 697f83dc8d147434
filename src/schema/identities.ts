// Identities in a shared schema: each entity, column and relation has a number from the version that makes it to the one
// that drops it, whatever it is called meanwhile. So two versions tell what a workspace keeps that skips those between them.
import type { SchemaDocument } from './format.ts';
import { member, type Renames } from './renames.ts';

type Numbers = Readonly<Record<string, number>>;

interface EntityIdentities {
  readonly id: number;
  /** By the names of fields: those of the document, keys of relations, timestamps. */
  readonly columns: Numbers;
  /** Relations without a column. */
  readonly relations: Numbers;
}

/** Identities of one version by the names that it uses. */
export interface Identities {
  /** The first number that no version has used. */
  readonly next: number;
  readonly entities: Readonly<Record<string, EntityIdentities>>;
}

// No entity, column or relation has this name.
const NONE = '';

export const NO_IDENTITIES: Identities = { next: 1, entities: {} };

/** Former names of all entities and columns of a version by their names, undefined for new ones. */
export interface FormerNames {
  readonly entities: ReadonlyMap<string, string | undefined>;
  readonly columns: ReadonlyMap<string, ReadonlyMap<string, string | undefined>>;
}

/** Returns the identities of a version. `former`: what the version before has of it; `renames`: those of its document. */
export function assignIdentities(
  before: Identities,
  document: SchemaDocument,
  former: FormerNames,
  renames: Renames,
): Identities {
  let { next } = before;
  const keep = (numbers: Numbers | undefined, name: string | undefined): number =>
    (name === undefined ? undefined : member(numbers, name)) ?? next++;
  const entities = Object.entries(document.entities).map(([name, { relations = {} }]) => {
    const old = member(before.entities, former.entities.get(name) ?? NONE);
    const columns = former.columns.get(name) ?? new Map<string, string>();
    const formerRelations = renames.relations.get(name);
    const identities: EntityIdentities = {
      id: old?.id ?? next++,
      columns: Object.fromEntries([...columns].map(([column, was]) => [column, keep(old?.columns, was)])),
      relations: Object.fromEntries(
        Object.entries(relations).flatMap(([relation, { kind }]) =>
          kind === 'belongsTo'
            ? []
            : [[relation, keep(old?.relations, formerRelations?.get(relation) ?? relation)] as const],
        ),
      ),
    };
    return [name, identities] as const;
  });
  return { entities: Object.fromEntries(entities), next };
}

/** Returns what a workspace of one version renames on its way to another, and which columns it keeps. */
export function compareIdentities(from: Identities, to: Identities): Renames & Required<Pick<Renames, 'columns'>> {
  const formerEntities = invert(mapValues(from.entities, ({ id }) => id));
  const entities = new Map<string, string>();
  const columns = new Map<string, ReadonlyMap<string, string>>();
  const relations = new Map<string, ReadonlyMap<string, string>>();
  for (const [name, next] of Object.entries(to.entities)) {
    const formerName = formerEntities.get(next.id);
    const old = formerName === undefined ? undefined : member(from.entities, formerName);
    if (formerName !== name) {
      if (formerName !== undefined) entities.set(name, formerName);
      else if (member(from.entities, name) !== undefined) entities.set(name, NONE);
    }
    if (old === undefined) continue;
    columns.set(name, findFormer(old.columns, next.columns));
    const formerRelations = findFormer(old.relations, next.relations);
    const renamed = Object.keys(next.relations).flatMap((relation): [string, string][] => {
      const before = formerRelations.get(relation);
      if (before === relation) return [];
      return before !== undefined || member(old.relations, relation) !== undefined ? [[relation, before ?? NONE]] : [];
    });
    if (renamed.length > 0) relations.set(name, new Map(renamed));
  }
  return { entities, fields: new Map(), relations, columns };
}

/** Returns the former names of what has the same number, by the new ones. */
function findFormer(from: Numbers, to: Numbers): ReadonlyMap<string, string> {
  const names = invert(from);
  return new Map(
    Object.entries(to).flatMap(([name, id]): [string, string][] => {
      const before = names.get(id);
      return before === undefined ? [] : [[name, before]];
    }),
  );
}

const invert = (numbers: Numbers): ReadonlyMap<number, string> =>
  new Map(Object.entries(numbers).map(([name, id]) => [id, name]));

const mapValues = <T>(all: Readonly<Record<string, T>>, toNumber: (one: T) => number): Numbers =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, toNumber(one)]));
