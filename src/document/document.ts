// The one parser of a schema document. Takes JSON values and the document in force, gives a document in which nothing
// dangles, in normal form, with what it renames; or every mistake in it at once, each with its path.
import type { Detail } from '../errors.ts';
import { makeCarrier } from './carry.ts';
import { checkFields } from './fields.ts';
import { DocumentShape, EMPTY_DOCUMENT, type EntityDocument, type SchemaDocument } from './format.ts';
import { checkIndexes, checkRelations } from './relations.ts';
import { checkRenames, member, type Renames } from './renames.ts';
import { makeReport, type Path, type Report, withNote } from './report.ts';
import { checkRowRules, checkSettings } from './settings.ts';
import { checkShape, plainNumbers } from './shape.ts';
import { type Loose, viewOf } from './view.ts';

export type ParsedDocument =
  | { readonly ok: true; readonly document: SchemaDocument; readonly renames: Renames }
  | { readonly ok: false; readonly details: readonly Detail[] };

/**
 * Parses what a client asks for. Numbers may keep their digits (model/exact-json.ts) and keep them in the result.
 * An entity without settings or row rules gets those of `inForce`; renamedFrom is consumed.
 */
export function parseSchemaDocument(value: unknown, inForce: SchemaDocument = EMPTY_DOCUMENT): ParsedDocument {
  const report = makeReport(value);
  const loose = plainNumbers(value) as LooseDocument;
  checkShape(DocumentShape, loose, report, [], isName);
  if (report.isFull() || typeof loose !== 'object' || loose === null || typeof loose.entities !== 'object')
    return refused(report);
  restoreDigits(loose, value);
  const asked = viewOf(loose, value, report);
  for (const entity of asked.values()) {
    if (report.isFull()) return refused(report);
    if (entity.name === 'id') report(entity.path, 'INVALID', 'id is reserved');
    checkFields(entity, report);
    checkRelations(entity, asked, report);
    checkIndexes(entity, report);
  }
  const renames = checkRenames(asked, inForce, report);
  const merged = carryOver(loose, value, inForce, renames);
  const view = viewOf(merged, value, report);
  for (const entity of view.values()) {
    if (report.isFull()) break;
    const said = saidOf(value, entity.name);
    checkSettings(entity, view, 'settings' in said ? report : withNote(report, KEPT));
    checkRowRules(entity, 'rowRules' in said ? report : withNote(report, KEPT));
  }
  const mistakes = refused(report);
  return mistakes.details.length > 0 ? mistakes : { ok: true, document: withoutRenames(merged), renames };
}

const KEPT = ' (what is in force stays in force unless the document says otherwise)';

interface LooseDocument {
  readonly entities?: Readonly<Record<string, Loose<EntityDocument>>>;
}

function refused(report: Report): { readonly ok: false; readonly details: readonly Detail[] } {
  return { ok: false, details: report.details() };
}

/** True for entities, fields and relations: others refer to them by name even when their content is mistaken. */
function isName(path: Path): boolean {
  if (path[0] !== 'entities') return false;
  return path.length === 2 || (path.length === 4 && (path[2] === 'fields' || path[2] === 'relations'));
}

/** Puts the exact values back into the checked copy. */
function restoreDigits(document: LooseDocument, original: unknown): void {
  for (const [entity, { fields }] of Object.entries(document.entities ?? {})) {
    for (const [name, field] of Object.entries(fields ?? {})) {
      const source = at(original, ['entities', entity, 'fields', name]);
      for (const attribute of ['default', 'min', 'max'] as const) {
        if (field[attribute] === undefined) continue;
        (field as Record<string, unknown>)[attribute] = at(source, [attribute]);
      }
    }
  }
}

/** The entity as the client wrote it. */
function saidOf(original: unknown, entity: string): object {
  const said = at(original, ['entities', entity]);
  return typeof said === 'object' && said !== null ? said : {};
}

function at(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) current = member(current as Record<string, unknown>, name);
  return current;
}

/** Settings and row rules that the document does not mention stay as they are in force, with renamed names. */
function carryOver(asked: LooseDocument, original: unknown, inForce: SchemaDocument, renames: Renames): LooseDocument {
  const entities: Record<string, Loose<EntityDocument>> = {};
  const carrier = makeCarrier(asked.entities ?? {}, inForce, renames);
  for (const [name, entity] of Object.entries(asked.entities ?? {})) {
    const said = saidOf(original, name);
    const [settings, rowRules] = [carrier.settings(name), carrier.rowRules(name)];
    entities[name] = {
      ...entity,
      ...('settings' in said || settings === undefined ? {} : { settings }),
      ...('rowRules' in said || rowRules === undefined ? {} : { rowRules }),
    };
  }
  return { entities };
}

/** The normal form: the document as asked for, without `renamedFrom`. */
function withoutRenames(document: LooseDocument): SchemaDocument {
  const strip = <T extends { readonly renamedFrom?: unknown }>({
    renamedFrom: _,
    ...rest
  }: T): Omit<T, 'renamedFrom'> => rest;
  const stripAll = <T extends { readonly renamedFrom?: unknown }>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name, strip(one)]));
  const entities = Object.entries((document as SchemaDocument).entities).map(([name, entity]) => [
    name,
    {
      ...strip(entity),
      ...(entity.fields === undefined ? {} : { fields: stripAll(entity.fields) }),
      ...(entity.relations === undefined ? {} : { relations: stripAll(entity.relations) }),
    },
  ]);
  return { entities: Object.fromEntries(entities) };
}
