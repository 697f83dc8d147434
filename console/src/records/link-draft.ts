// Draft of the links of a record by its many-to-many relations, and the members of a body that they become. Pure.
import { Digits } from '../api/json.ts';
import type { EntityDocument, RelationDocument, WorkspaceSchema } from '../api/schema.ts';

/** Ids of related records to link, and to take away. */
export interface LinkDraft {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export const NO_LINKS: LinkDraft = { added: [], removed: [] };

/** Drafts by the name of the relation. */
export type LinkDrafts = ReadonlyMap<string, LinkDraft>;

/** `stored`: ids that are linked already. */
export function addLink({ added, removed }: LinkDraft, id: string, stored: readonly string[]): LinkDraft {
  const isLinked = stored.includes(id) || added.includes(id);
  return { added: isLinked ? added : [...added, id], removed: removed.filter((one) => one !== id) };
}

export function removeLink({ added, removed }: LinkDraft, id: string, stored: readonly string[]): LinkDraft {
  const isNew = !stored.includes(id) || removed.includes(id);
  return { added: added.filter((one) => one !== id), removed: isNew ? removed : [...removed, id] };
}

const isEmpty = ({ added, removed }: LinkDraft): boolean => added.length === 0 && removed.length === 0;

/** Returns the members of the body of a create, or of an update, for the relations that change. */
export function printLinks(drafts: LinkDrafts, isNew: boolean): ReadonlyMap<string, unknown> {
  const toIds = (ids: readonly string[]): readonly Digits[] => ids.map((id) => new Digits(id));
  return new Map(
    [...drafts]
      .filter(([, draft]) => !isEmpty(draft))
      .map(([name, { added, removed }]) => [
        name,
        isNew ? toIds(added) : { $add: toIds(added), $remove: toIds(removed) },
      ]),
  );
}

/**
 * Lists the many-to-many relations that a body may name: the entity between the two requires nothing but the ids of both,
 * and the session may make its records, or for an existing record remove them.
 */
export function listWrittenRelations(
  { relations }: EntityDocument,
  schema: WorkspaceSchema | undefined,
  isNew: boolean,
): readonly RelationDocument[] {
  return [...relations.values()].filter(({ kind, through, from, to }) => {
    const between = kind === 'manyToMany' ? schema?.entities.get(String(through)) : undefined;
    if (between === undefined) return false;
    const mayWrite = between.operations.includes('create') || (!isNew && between.operations.includes('delete'));
    const requiresField = [...between.fields.values()].some(
      (field) => field.required === true && field.default === undefined,
    );
    const requiresRelation = [...between.relations.values()].some(
      ({ name, required }) => required === true && name !== from && name !== to,
    );
    return mayWrite && !requiresField && !requiresRelation;
  });
}
