// Compares renamedFrom in a schema document with the active document: what to rename, what has been renamed already,
// and unknown names.
import type { SchemaDocument } from './format.ts';
import { missing } from './relations.ts';
import type { Path, Report } from './report.ts';
import type { DocumentView } from './view.ts';

/** New name -> active name. Fields and relations by the new name of their entity. */
export interface Renames {
  readonly entities: ReadonlyMap<string, string>;
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly relations: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

type NamedMembers = Readonly<Record<string, unknown>>;

export function checkRenames(document: DocumentView, inForce: SchemaDocument, report: Report): Renames {
  const entities = collectRenames(
    [...document.values()].map(({ name, path, document: { renamedFrom } }) => ({ name, path, renamedFrom })),
    inForce.entities,
    'entity',
    report,
  );
  const fields = new Map<string, ReadonlyMap<string, string>>();
  const relations = new Map<string, ReadonlyMap<string, string>>();
  for (const entity of document.values()) {
    const before = member(inForce.entities, entities.get(entity.name) ?? entity.name);
    for (const [role, members, all] of [
      ['field', entity.fields, fields],
      ['relation', entity.relations, relations],
    ] as const) {
      const renames = collectRenames(
        [...members].map(([name, { renamedFrom }]) => ({
          name,
          path: [...entity.path, `${role}s`, name],
          renamedFrom,
        })),
        before?.[`${role}s`] ?? {},
        role,
        report,
        entity.name,
      );
      if (renames.size > 0) all.set(entity.name, renames);
    }
  }
  return { entities, fields, relations };
}

function collectRenames(
  members: readonly { readonly name: string; readonly path: Path; readonly renamedFrom?: string | undefined }[],
  inForce: NamedMembers,
  role: string,
  report: Report,
  entity?: string,
): ReadonlyMap<string, string> {
  const names = new Set(members.map(({ name }) => name));
  const renames = new Map<string, string>();
  const used = new Map<string, string>();
  for (const { name, path, renamedFrom } of members) {
    // An active new name has been renamed already: a document can be applied twice.
    if (renamedFrom === undefined || Object.hasOwn(inForce, name)) continue;
    const location = [...path, 'renamedFrom'];
    const other = used.get(renamedFrom);
    if (!Object.hasOwn(inForce, renamedFrom)) {
      report(location, 'REFERENCE_NOT_FOUND', missing(role, renamedFrom, Object.keys(inForce), report, entity));
    } else if (names.has(renamedFrom)) {
      report(location, 'INVALID', `${renamedFrom} is still in the document, so it is not renamed`);
    } else if (other !== undefined) {
      report(location, 'INVALID', `${renamedFrom} is renamed to ${other} already`);
    } else {
      used.set(renamedFrom, name);
      renames.set(name, renamedFrom);
    }
  }
  return renames;
}

/** Returns an own member of a record of names: `constructor` is a name like any other. */
export function member<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
