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
  /**
   * Former name of every column that stays, by the new names of entity and column, where that is known of more than the
   * document: of two versions of a shared schema. An entity or relation that is a new one has the empty name there.
   */
  readonly columns?: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

type NamedMembers = Readonly<Record<string, unknown>>;

/**
 * Finds what the document renames. A name that is mistaken is reported, where there is something to rename: in an entity
 * that is new, renamedFrom means nothing.
 */
export function checkRenames(document: DocumentView, inForce: SchemaDocument, report: Report): Renames {
  const newNames = new Set(
    [...document.values()].flatMap(({ name, document: { renamedFrom } }) => [name, renamedFrom]),
  );
  const leaving = Object.keys(inForce.entities).filter((name) => !newNames.has(name));
  const entities = collectRenames(
    [...document.values()].map(({ name, path, document: { renamedFrom } }) => ({ name, path, renamedFrom })),
    inForce.entities,
    // In one schema for many workspaces, neither name means anything where the entity never was. A similar name of one
    // that would be dropped was meant.
    (renamedFrom) =>
      report.suggest(renamedFrom, leaving) === undefined ? undefined : missing('entity', renamedFrom, leaving, report),
    report,
  );
  const fields = new Map<string, ReadonlyMap<string, string>>();
  const relations = new Map<string, ReadonlyMap<string, string>>();
  for (const entity of document.values()) {
    const before = member(inForce.entities, entities.get(entity.name) ?? entity.name);
    if (before === undefined) continue;
    for (const [role, members, all] of [
      ['field', entity.fields, fields],
      ['relation', entity.relations, relations],
    ] as const) {
      const namesInForce = before[`${role}s`] ?? {};
      const renames = collectRenames(
        [...members].map(([name, { renamedFrom }]) => ({
          name,
          path: [...entity.path, `${role}s`, name],
          renamedFrom,
        })),
        namesInForce,
        (renamedFrom) => missing(role, renamedFrom, Object.keys(namesInForce), report, entity.name),
        report,
      );
      if (renames.size > 0) all.set(entity.name, renames);
    }
  }
  return { entities, fields, relations };
}

interface NamedMember {
  readonly name: string;
  readonly path: Path;
  readonly renamedFrom?: string | undefined;
}

/**
 * Follows the names of one kind from the former to the new one. They form chains (a becomes b, b becomes c), which keep
 * every value when the first name leaves the document and the last one is free. When all names of a chain are in force
 * and in the document, it has been applied already: a document can be applied twice.
 */
function collectRenames(
  members: readonly NamedMember[],
  inForce: NamedMembers,
  describeMissing: (renamedFrom: string) => string | undefined,
  report: Report,
): ReadonlyMap<string, string> {
  const isInForce = (name: string): boolean => Object.hasOwn(inForce, name);
  const names = new Set(members.map(({ name }) => name));
  const origins = new Map<string, string>();
  const targets = new Map<string, string>();
  for (const { name, renamedFrom } of members) {
    if (renamedFrom === undefined || renamedFrom === name || !isInForce(renamedFrom)) continue;
    origins.set(name, renamedFrom);
    const other = targets.get(renamedFrom);
    if (other === undefined || (isInForce(other) && !isInForce(name))) targets.set(renamedFrom, name);
  }
  const [findFirst, findLast] = [makeFollower(origins), makeFollower(targets)];
  const renames = new Map<string, string>();
  for (const { name, path, renamedFrom } of members) {
    if (renamedFrom === undefined) continue;
    const location = [...path, 'renamedFrom'];
    if (!origins.has(name)) {
      const message = isInForce(name) ? undefined : describeMissing(renamedFrom);
      if (message !== undefined) report(location, 'REFERENCE_NOT_FOUND', message);
      continue;
    }
    const [first, last] = [findFirst(renamedFrom), findLast(name)];
    const target = targets.get(renamedFrom) as string;
    if (first === undefined || last === undefined) {
      report(location, 'INVALID', `${renamedFrom} and ${name} would trade their names: ${TRADE}`);
    } else if (names.has(first)) {
      if (isInForce(last) || renamedFrom !== first) continue;
      report(location, 'INVALID', `${first} is still in the document, so it is not renamed`);
    } else if (target !== name) {
      report(location, 'INVALID', `${renamedFrom} is renamed to ${target} already`);
    } else if (!isInForce(last)) {
      renames.set(name, renamedFrom);
    } else if (name === last) {
      report(
        location,
        'INVALID',
        `${renamedFrom} and ${name} are both in force, and one of them would be dropped: ${BOTH}`,
      );
    }
  }
  return renames;
}

const TRADE =
  'the document could not be applied twice. Give one of them another name first, and apply that document before this one';
const BOTH = 'take renamedFrom away if the name is given already, or else drop or rename the other one before';

/**
 * Returns a function that follows `steps` from a name to the last one; undefined where they lead into a cycle. Each step
 * is taken once, as a document may have chains of hundreds of names.
 */
function makeFollower(steps: ReadonlyMap<string, string>): (start: string) => string | undefined {
  const ends = new Map<string, string | undefined>();
  return (start) => {
    const path = new Set<string>();
    let name: string | undefined = start;
    let end: string | undefined;
    while (name !== undefined && !ends.has(name) && !path.has(name)) {
      path.add(name);
      end = name;
      name = steps.get(name);
    }
    if (name !== undefined) end = ends.get(name);
    for (const each of path) ends.set(each, end);
    return end;
  };
}

/** Returns an own member of a record of names: `constructor` is a name like any other. */
export function member<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
