// Import request + schema + principal -> ImportPlan: the columns to stage, the checks against other tables, and the
// handling of existing records. Throws 400 for a map or a header that does not fit.
import { badRequest, type Detail, shorten, validationFailed } from '../errors.ts';
import { type Entity, type Field, keepsChanges } from '../model/entity.ts';
import { getEntity } from '../model/workspace.ts';
import { getRequiredFields, isWritable } from '../model/writable.ts';
import type { ConflictMode, ImportRequest } from '../request/import-request.ts';
import { makeRequiredDetail } from './assignment.ts';
import { getUniqueFields, planKey } from './conflict-key.ts';
import { getOptionalNames, isGranted, requireCreate, widenToWritable } from './granted.ts';
import {
  type Lookup,
  makeHeaderMatcher,
  makeRelationFormatter,
  REJECT_COLUMNS,
  resolveTarget,
  type Target,
} from './import-columns.ts';
import type { PlanContext } from './link.ts';
import { getReferences, type Reference } from './references.ts';
import { applyRowRules, getRuleColumns } from './row-rules.ts';
import { hidesRows, type Scan, scan, scanGrantedTarget } from './scan.ts';
import { MAX_DETAILS, makeUnknownNameFormatter } from './unknown-name.ts';

export interface ImportPlan {
  readonly kind: 'import';
  /** Target table. */
  readonly scan: Scan;
  readonly onConflict: ConflictMode;
  /** Staged columns of each row, in this order. */
  readonly columns: readonly Field[];
  /** References that are looked up; the values are staged after the columns, which get the ids later. */
  readonly lookups: readonly Lookup[];
  /** Whether rows with mistakes are left out, in place of refusing the file. */
  readonly hasRejects: boolean;
  /** Whether changes are kept as one event for the whole import. */
  readonly isSummary: boolean;
  /** Range of rows that statements are limited to, in a search for the row that PostgreSQL refuses. */
  readonly range?: { readonly from: number; readonly to: number };
  /** Whether each row says which columns it gives (NDJSON, or under grants); otherwise every row gives all of them. */
  readonly sparse: boolean;
  /** Ids in the file: `known` only find records, `new` may create records, too. */
  readonly ids: 'none' | 'known' | 'new';
  /** Fields that find existing records instead of the id; undefined for a file without ids. */
  readonly matchOn: readonly Field[] | undefined;
  /** Sets of columns that are unique together. */
  readonly uniques: readonly (readonly Field[])[];
  readonly references: readonly Reference[];
  /** Fields that a row must give if it creates a record; which rows do is only clear later. */
  readonly required: readonly Field[];
}

/** Entity and context of an import. */
export interface ImportCase {
  readonly request: ImportRequest;
  readonly entity: Entity;
  readonly context: PlanContext;
}

/** A CSV import: the plan, and what each column of the file gives, or undefined for an ignored column. */
export interface CsvImport {
  readonly plan: ImportPlan;
  readonly cells: readonly (Target | undefined)[];
  /** Sentences about headers that were read as fields of similar names. */
  readonly notes: readonly string[];
}

// An entity has 500 fields at most; a file may have additional columns that the import ignores.
const MAX_COLUMNS = 2000;

/** Returns the entity with the fields that a file may give. */
export const getImported = (entity: Entity): Entity => (isGranted(entity) ? widenToWritable(entity) : entity);

/** Checks what is possible before the first byte of the body: the fields in `map`, and the claims of the row rules. */
export function checkImport(request: ImportRequest, entity: Entity, context: PlanContext): void {
  const lookupNames = new Map<Field, string>();
  for (const name of request.map.values()) {
    const target = name === null ? undefined : resolveTarget(name, entity, context);
    if (name === null || target?.lookup === undefined) continue;
    const { field } = target;
    const otherName = lookupNames.get(field);
    if (otherName !== undefined) {
      const message = `map looks up ${field.name} by ${shorten(otherName)} and by ${shorten(name)}: one of them is possible`;
      throw badRequest('INVALID_HEADER_MAP', message);
    }
    lookupNames.set(field, name);
  }
  findMatchFields(request, entity, context);
  isSummarized(request, entity);
  // Throws 403 when a claim that the row rules write into every row cannot be used.
  applyRowRules(entity, context.principal, new Map());
  if (isGranted(entity) && request.onConflict !== 'update') requireCreate(entity, context.principal);
}

/** Returns whether the changes of the import are one event. Throws 400 for history, which has each change of a record. */
function isSummarized({ isSummary }: ImportRequest, { name, settings }: Entity): boolean {
  if (isSummary === true && settings.changes === 'history')
    throw badRequest(
      'PARAMETER_CONFLICT',
      `events=summary is not for ${name}, whose history has each change of a record`,
    );
  return isSummary === true && keepsChanges(settings);
}

/** Throws 400 when the fields are not unique together. */
function findMatchFields(request: ImportRequest, entity: Entity, context: PlanContext): readonly Field[] | undefined {
  const { conflictOn: fields, onConflict } = request;
  if (fields === undefined || onConflict === 'fail') return undefined;
  // A field that a user may write without reading it finds no record.
  const readable = isGranted(entity) ? getEntity(context.workspace, entity.name) : entity;
  const key = planKey({ fields, mode: onConflict }, readable, context, 'conflictOn').fields;
  return key.map(({ name }) => entity.fields.get(name) as Field);
}

/** Plans the import of a CSV file with these headers; throws 400 with every mistake in them (row 0). */
export function planCsvImport(
  request: ImportRequest,
  headers: readonly string[],
  entity: Entity,
  context: PlanContext,
): CsvImport {
  if (headers.length > MAX_COLUMNS) {
    const message = `names ${headers.length} columns where ${MAX_COLUMNS} are the most`;
    throw validationFailed([{ row: 0, field: null, code: 'OUT_OF_RANGE', message }]);
  }
  const importCase = { request, entity, context };
  const details: Detail[] = [];
  const formatUnknownName = makeUnknownNameFormatter();
  const formatUnknownField = makeUnknownFieldFormatter(entity, context);
  const matchHeader = makeHeaderMatcher(entity);
  const notes: string[] = [];
  const usedFields = new Set<Field>();
  const cells = headers.map((header, index) => {
    const name = request.map.get(header);
    if (name === null || (name === undefined && REJECT_COLUMNS.includes(header))) return undefined;
    const target = name === undefined ? toTarget(matchHeader(header)) : resolveTarget(name, entity, context);
    const isSecond = target !== undefined && usedFields.has(target.field);
    if (target !== undefined) usedFields.add(target.field);
    if (name === undefined && target !== undefined && target.field.name !== header)
      notes.push(`the column ${shorten(header)} was read as ${target.field.name}`);
    if (details.length >= MAX_DETAILS) return target;
    const mistake = findHeaderMistake(
      { header, index, field: target?.field, isSecond, isOnly: headers.length === 1 },
      importCase,
      formatUnknownField,
    );
    if (mistake !== undefined) details.push({ row: 0, field: shorten(header), ...mistake });
    return target;
  });
  const present = new Set(headers);
  for (const header of request.map.keys()) {
    if (present.has(header)) continue;
    if (details.length >= MAX_DETAILS) break;
    const message = formatUnknownName('is named by map, but is no header of the file', header, headers);
    details.push({ row: 0, field: shorten(header), code: 'UNKNOWN_FIELD', message });
  }
  const targets = cells.filter((target) => target !== undefined);
  const fields = targets.map(({ field }) => field);
  const byId = fields.some((field) => field.role === 'id');
  const optional = getOptionalNames(entity, context.principal);
  const missingFields = getRequiredFields(entity, optional).filter((field) => !fields.includes(field));
  const match = findMatchFields(request, entity, context);
  const isDecidedLater = request.onConflict === 'update' && (byId || match !== undefined);
  for (const field of match ?? []) {
    if (fields.includes(field) || optional.has(field.name)) continue;
    details.push({
      row: 0,
      ...makeRequiredDetail(field.name),
      message: 'is required by conflictOn, and no column gives it',
    });
  }
  if (!isDecidedLater) {
    for (const { name } of missingFields)
      details.push({ row: 0, ...makeRequiredDetail(name), message: 'is required, and no column gives it' });
  }
  if (fields.length === 0 && details.length === 0) {
    details.push({ row: 0, field: null, code: 'REQUIRED', message: 'no column of the file is imported' });
  }
  if (details.length > 0) throw validationFailed(details.slice(0, MAX_DETAILS));
  const stampedFields = isGranted(entity)
    ? (match ?? [])
    : [...getRuleColumns(entity, context.principal)].map((name) => entity.fields.get(name));
  const required = isDecidedLater ? missingFields : [];
  const added = stampedFields.filter((field) => field !== undefined && !fields.includes(field)) as Field[];
  const columns = [...fields, ...added];
  const sparse = isGranted(entity);
  const plan = planImport(importCase, { columns, lookups: getLookups(targets), sparse, required });
  return { plan, cells, notes };
}

const toTarget = (field: Field | undefined): Target | undefined => field && { field, lookup: undefined };

const getLookups = (targets: readonly Target[]): readonly Lookup[] =>
  targets.flatMap(({ lookup }) => (lookup === undefined ? [] : [lookup]));

/** Plans the import of lines of JSON, each of which gives any fields. */
export function planNdjsonImport(request: ImportRequest, entity: Entity, context: PlanContext): ImportPlan {
  const columns = [...entity.fields.values()].filter((field) => readOnlyReason(field, request, context) === undefined);
  const required =
    request.onConflict === 'update' ? getRequiredFields(entity, getOptionalNames(entity, context.principal)) : [];
  const names = [...request.map.values()].filter((name) => name !== null);
  const lookups = getLookups(names.map((name) => resolveTarget(name, entity, context)));
  return planImport({ request, entity, context }, { columns, lookups, sparse: true, required });
}

/** Returns the reason why the principal may not give the field in an import, or undefined if it may. */
export function readOnlyReason(
  field: Field,
  { onConflict, conflictOn }: Pick<ImportRequest, 'onConflict' | 'conflictOn'>,
  context: PlanContext,
): string | undefined {
  if (field.role === 'id' && conflictOn !== undefined) {
    return 'is set by the server: with conflictOn, records are found by other fields; map=id: leaves it out';
  }
  if (isWritable(field) || context.principal.kind !== 'external') return undefined;
  if (field.role !== 'id') return 'is set by the server';
  return onConflict === 'fail' ? 'is set by the server; it may stand here with onConflict=skip or update' : undefined;
}

/** Returns a function that formats the message for a name that is no field of the entity, with a suggestion. */
export function makeUnknownFieldFormatter(entity: Entity, context: PlanContext): (name: string) => string {
  const formatUnknownName = makeUnknownNameFormatter();
  const formatRelation = makeRelationFormatter(entity, context);
  return (name) =>
    formatRelation(name) ?? formatUnknownName(`is not a field of ${entity.name}`, name, [...entity.fields.keys()]);
}

function planImport(
  { request, entity, context }: ImportCase,
  { columns, lookups, sparse, required }: Pick<ImportPlan, 'columns' | 'lookups' | 'sparse' | 'required'>,
): ImportPlan {
  const { workspace, principal } = context;
  const byId = columns.some((field) => field.role === 'id');
  const match = findMatchFields(request, entity, context);
  return {
    kind: 'import',
    scan: isGranted(entity)
      ? scanGrantedTarget(getEntity(workspace, entity.name), principal)
      : scan(entity, principal, 'write'),
    onConflict: request.onConflict,
    columns,
    lookups,
    hasRejects: request.hasRejects === true,
    isSummary: isSummarized(request, entity),
    sparse,
    matchOn: match,
    ids: match !== undefined ? 'known' : !byId ? 'none' : principal.kind === 'external' ? 'known' : 'new',
    // The database checks a set when the file gives only a part of it.
    uniques: getUniqueFields(entity, workspace).filter((fields) => fields.every((field) => columns.includes(field))),
    references: getReferences((field) => columns.includes(field), entity, context),
    required,
  };
}

/** Returns whether the reference leads to the entity of the import: the same file may contain the record. */
export const isOwnReference = ({ scan: { entity } }: ImportPlan, reference: Reference): boolean =>
  reference.scan.entity.name === entity.name;

/** Returns whether rows may update existing records. */
export const updatesRecords = ({ onConflict, ids }: Pick<ImportPlan, 'onConflict' | 'ids'>): boolean =>
  onConflict === 'update' && ids !== 'none';

/** Returns the plan for rows that give these columns alone, and all of them. */
export function narrowPlan(plan: ImportPlan, columns: readonly Field[]): ImportPlan {
  return {
    ...plan,
    columns,
    sparse: false,
    ids: columns.some(({ role }) => role === 'id') ? plan.ids : 'none',
    references: plan.references.filter(({ field }) => columns.includes(field)),
  };
}

/**
 * Returns whether each row is a record of its own, which PostgreSQL alone refuses or takes: then rows may be copied into the
 * table itself, unless it is on a node of a cluster. A reference to a record of the same entity might lead to a row of the file, which has no id yet.
 */
export const isPlainInsert = (plan: ImportPlan): boolean =>
  plan.columns.length > 0 &&
  plan.ids === 'none' &&
  plan.matchOn === undefined &&
  !plan.sparse &&
  !plan.hasRejects &&
  !isGranted(plan.scan.entity) &&
  plan.scan.entity.statementForms === undefined &&
  plan.lookups.length === 0 &&
  plan.columns.every(({ role }) => role === 'data' || role === 'reference') &&
  plan.references.every((reference) => !hidesRows(reference.scan) && !isOwnReference(plan, reference));

/** A header of the file, its field, and its position. */
interface Header {
  readonly header: string;
  readonly index: number;
  readonly field: Field | undefined;
  readonly isSecond: boolean;
  readonly isOnly: boolean;
}

function findHeaderMistake(
  { header, index, field, isSecond, isOnly }: Header,
  { request, context }: ImportCase,
  formatUnknownField: (name: string) => string,
): Pick<Detail, 'code' | 'message'> | undefined {
  if (header === '') return { code: 'INVALID', message: `column ${index + 1} of the file has no header` };
  if (field === undefined) {
    const separator = isOnly ? /[;\t|]/.exec(header)?.[0] : undefined;
    const message =
      separator === undefined
        ? `${formatUnknownField(header)}; map=Header:field gives it another name, map=Header: leaves it out`
        : `is the only header: columns are separated by commas, not by ${separator === '\t' ? 'tabs' : separator}`;
    return { code: 'UNKNOWN_FIELD', message };
  }
  if (isSecond) return { code: 'INVALID', message: `gives the field ${field.name} a second time` };
  const reason = readOnlyReason(field, request, context);
  return reason === undefined ? undefined : { code: 'READ_ONLY', message: reason };
}
