// Carries over settings, row rules and grants that a document does not mention, with the new names of what the document
// renames. A name that the document drops stays as it is, so that the checks of the document find it.
import { renameInLabel } from '../model/label.ts';
import type { EntityDocument, SchemaDocument } from './format.ts';
import { member, type Renames } from './renames.ts';
import { getColumn, type Loose } from './view.ts';

export interface Carrier {
  readonly settings: (entity: string) => EntityDocument['settings'];
  readonly rowRules: (entity: string) => EntityDocument['rowRules'];
  readonly grants: (entity: string) => EntityDocument['grants'];
}

type EntityDocuments = Readonly<Record<string, Loose<EntityDocument>>>;

/** Returns a carrier by the new name of the entity. */
export function makeCarrier(documents: EntityDocuments, inForce: SchemaDocument, renames: Renames): Carrier {
  const newEntities = invert(renames.entities);
  const oldName = (entity: string): string => renames.entities.get(entity) ?? entity;
  const newName = (entity: string): string => newEntities.get(entity) ?? entity;
  const newRelations = reversedAll(renames.relations);
  const newFields = reversedAll(renames.fields);

  /** Returns the relation's name in the document, and the entity that it leads to in the active document. */
  function follow(entity: string, relation: string): { readonly name: string; readonly to: string | undefined } {
    const name = newRelations.get(newName(entity))?.get(relation) ?? relation;
    return { name, to: member(member(inForce.entities, entity)?.relations, relation)?.entity };
  }

  function field(entity: string, name: string): string {
    const renamed = newFields.get(newName(entity))?.get(name);
    if (renamed !== undefined) return renamed;
    const before = member(inForce.entities, entity);
    if (member(before?.fields, name) !== undefined) return name;
    for (const [relation, document] of Object.entries(before?.relations ?? {})) {
      if (document.kind !== 'belongsTo' || getColumn(relation, document) !== name) continue;
      const now = follow(entity, relation).name;
      const key = member(member(documents, newName(entity))?.relations, now);
      return key?.kind === 'belongsTo' ? getColumn(now, key) : name;
    }
    return name;
  }

  /** Renames a path of relations; its last name may be a field. */
  function path(entity: string, text: string): string {
    let at: string | undefined = entity;
    const names: string[] = [];
    for (const name of text.split('.')) {
      if (at === undefined) names.push(name);
      else if (member(member(inForce.entities, at)?.relations, name) === undefined) {
        names.push(field(at, name));
        at = undefined;
      } else {
        const step = follow(at, name);
        names.push(step.name);
        at = step.to;
      }
    }
    return names.join('.');
  }

  return {
    settings(entity) {
      const old = oldName(entity);
      const settings = member(inForce.entities, old)?.settings;
      if (settings === undefined) return undefined;
      const each = (list: readonly string[] | null | undefined): string[] | null | undefined =>
        list?.map((text) => path(old, text)) ?? (list as null | undefined);
      return {
        ...settings,
        ...(settings.expandable === undefined ? {} : { expandable: each(settings.expandable) }),
        ...(settings.defaultExpand === undefined ? {} : { defaultExpand: each(settings.defaultExpand) }),
        ...(typeof settings.label === 'string'
          ? { label: renameInLabel(settings.label, (name) => field(old, name)) }
          : {}),
        ...(Array.isArray(settings.changesOmit)
          ? { changesOmit: settings.changesOmit.map((name: string) => field(old, name)) }
          : {}),
        ...(settings.defaultFields === undefined ? {} : { defaultFields: each(settings.defaultFields) }),
      } as EntityDocument['settings'];
    },
    rowRules(entity) {
      const old = oldName(entity);
      const rules = member(inForce.entities, old)?.rowRules;
      return rules?.map((rule) => ({ ...rule, column: field(old, rule.column) }));
    },
    grants(entity) {
      const old = oldName(entity);
      const fields = (names: readonly string[]): readonly string[] => names.map((name) => field(old, name));
      const where = (node: unknown): unknown => {
        if (typeof node !== 'object' || node === null) return node;
        const { and, or, not, ...comparison } = node as Readonly<Record<string, unknown>>;
        if (Array.isArray(and)) return { and: and.map(where) };
        if (Array.isArray(or)) return { or: or.map(where) };
        if (not !== undefined) return { not: where(not) };
        return typeof comparison.field === 'string' ? { ...comparison, field: path(old, comparison.field) } : node;
      };
      return member(inForce.entities, old)?.grants?.map((grant) => ({
        ...grant,
        ...(grant.where === undefined ? {} : { where: where(grant.where) as Readonly<Record<string, unknown>> }),
        ...(grant.fields === undefined ? {} : { fields: fields(grant.fields) }),
        ...(grant.write === undefined ? {} : { write: fields(grant.write) }),
        ...(grant.set === undefined
          ? {}
          : { set: Object.fromEntries(Object.entries(grant.set).map(([name, value]) => [field(old, name), value])) }),
      }));
    },
  };
}

function invert(names: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...names].map(([now, before]) => [before, now]));
}

function reversedAll(
  all: ReadonlyMap<string, ReadonlyMap<string, string>>,
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  return new Map([...all].map(([entity, names]) => [entity, invert(names)]));
}
