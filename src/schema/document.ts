// The one parser of a schema document. Takes JSON values and the active document, returns a document without dangling
// names, in normal form, with its renames; or every mistake in it at once, each with its path.
import type { Detail } from '../errors.ts';
import { makeCarrier } from './carry.ts';
import { checkFields } from './fields.ts';
import { DocumentShape, EMPTY_DOCUMENT, type EntityDocument, type SchemaDocument } from './format.ts';
import { checkGrants } from './grants.ts';
import { checkIndexes, checkRelations } from './relations.ts';
import { checkRenames, member, type Renames } from './renames.ts';
import { makeReport, type Path, type Report, withSuffix } from './report.ts';
import { checkRowRules, checkSettings } from './settings.ts';
import { checkShape, plainNumbers } from './shape.ts';
import { type Loose, makeView } from './view.ts';

export type ParsedDocument =
  | { readonly ok: true; readonly document: SchemaDocument; readonly renames: Renames }
  | { readonly ok: false; readonly details: readonly Detail[] };

/**
 * Parses the document of a client. Numbers may keep their digits (model/exact-json.ts) and keep them in the result. An
 * entity without settings or row rules gets those of `inForce`; renamedFrom is consumed.
 */
export function parseSchemaDocument(value: unknown, inForce: SchemaDocument = EMPTY_DOCUMENT): ParsedDocument {
  const report = makeReport(value);
  const loose = plainNumbers(value) as LooseDocument;
  checkShape(DocumentShape, loose, report, [], isName);
  if (report.isFull() || typeof loose !== 'object' || loose === null || typeof loose.entities !== 'object')
    return makeFailure(report);
  restoreDigits(loose, value);
  const draft = makeView(loose, value, report);
  for (const entity of draft.values()) {
    if (report.isFull()) return makeFailure(report);
    if (entity.name === 'id') report(entity.path, 'INVALID', 'id is reserved');
    checkFields(entity, report);
    checkRelations(entity, draft, report);
    checkIndexes(entity, report);
  }
  const renames = checkRenames(draft, inForce, report);
  const merged = carryOver(loose, value, inForce, renames);
  const view = makeView(merged, value, report);
  for (const entity of view.values()) {
    if (report.isFull()) break;
    const stated = getStatedMembers(value, entity.name);
    checkSettings(entity, view, 'settings' in stated ? report : withSuffix(report, KEPT_SUFFIX));
    checkRowRules(entity, 'rowRules' in stated ? report : withSuffix(report, KEPT_SUFFIX));
    const grantReport = 'grants' in stated ? report : withSuffix(report, KEPT_SUFFIX);
    checkGrants(entity, view, merged.roles ?? [], grantReport);
  }
  const mistakes = makeFailure(report);
  return mistakes.details.length > 0 ? mistakes : { ok: true, document: withoutRenames(merged), renames };
}

const KEPT_SUFFIX = ' (what is in force stays in force unless the document says otherwise)';

interface LooseDocument {
  readonly roles?: readonly string[];
  readonly entities?: Readonly<Record<string, Loose<EntityDocument>>>;
}

function makeFailure(report: Report): { readonly ok: false; readonly details: readonly Detail[] } {
  return { ok: false, details: report.details() };
}

/** Returns whether others refer to the path by name (entity, field, relation) even when its content is mistaken. */
function isName(path: Path): boolean {
  if (path[0] !== 'entities') return false;
  return path.length === 2 || (path.length === 4 && (path[2] === 'fields' || path[2] === 'relations'));
}

/** Puts the exact values back into the checked copy. */
function restoreDigits(document: LooseDocument, original: unknown): void {
  for (const [entity, { fields, grants }] of Object.entries(document.entities ?? {})) {
    for (const [name, field] of Object.entries(fields ?? {})) {
      const source = at(original, ['entities', entity, 'fields', name]);
      for (const attribute of ['default', 'min', 'max'] as const) {
        if (field[attribute] === undefined) continue;
        (field as Record<string, unknown>)[attribute] = at(source, [attribute]);
      }
    }
    grants?.forEach((grant: Record<string, unknown> | undefined, position) => {
      for (const part of ['where', 'set']) {
        if (grant?.[part] !== undefined)
          grant[part] = at(original, ['entities', entity, 'grants', String(position), part]);
      }
    });
  }
}

/** Returns the entity as the client wrote it. */
function getStatedMembers(original: unknown, entity: string): object {
  const stated = at(original, ['entities', entity]);
  return typeof stated === 'object' && stated !== null ? stated : {};
}

function at(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const name of path) current = member(current as Record<string, unknown>, name);
  return current;
}

/** Keeps active settings, row rules, grants and roles that the document does not mention, with renamed names. */
function carryOver(draft: LooseDocument, original: unknown, inForce: SchemaDocument, renames: Renames): LooseDocument {
  const entities: Record<string, Loose<EntityDocument>> = {};
  const carrier = makeCarrier(draft.entities ?? {}, inForce, renames);
  for (const [name, entity] of Object.entries(draft.entities ?? {})) {
    const stated = getStatedMembers(original, name);
    const [settings, rowRules] = [carrier.settings(name), carrier.rowRules(name)];
    const { grants: statedGrants, ...rest } = entity;
    const grants = 'grants' in stated ? statedGrants : carrier.grants(name);
    entities[name] = {
      ...rest,
      ...('settings' in stated || settings === undefined ? {} : { settings }),
      ...('rowRules' in stated || rowRules === undefined ? {} : { rowRules }),
      ...(grants === undefined || grants === null ? {} : { grants }),
    };
  }
  const roles = 'roles' in Object(original) ? draft.roles : inForce.roles;
  return { ...(roles === undefined ? {} : { roles }), entities };
}

/** Returns the normal form: the document without `renamedFrom`. */
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
  const { roles } = document;
  return { ...(roles === undefined ? {} : { roles }), entities: Object.fromEntries(entities) };
}
