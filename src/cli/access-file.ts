// Reads a file of access tests: cases of claims with the records and fields that their user sees, and the writes that it may
// make and may not. Every mistake has its line.
import { numberText } from '../model/exact-json.ts';
import type { CommandFailure } from './failure.ts';
import type { Io } from './io.ts';
import { isObject, makeMistake, readSchemaFile, throwMistakes } from './schema-file.ts';

/** Ids by entity. */
export type Records = ReadonlyMap<string, readonly string[]>;

export interface AccessCase {
  readonly name: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly visible: Records;
  readonly hidden: Records;
  /** Records that are visible while every other record of their entity is hidden. */
  readonly only: Records;
  /** Names of the fields that are seen, by entity; none: the entity is not there. */
  readonly fields: Records;
  readonly writes: readonly WriteTrial[];
}

/** A write that the user may make, or may not. */
export interface WriteTrial {
  readonly isAllowed: boolean;
  readonly operation: WriteOperation;
  readonly entity: string;
  /** Id of the record; undefined for a new one. */
  readonly id: string | undefined;
  /** Values of the record; undefined for a delete. */
  readonly values: unknown;
}

const WRITE_OPERATIONS = ['create', 'update', 'delete'] as const;
type WriteOperation = (typeof WRITE_OPERATIONS)[number];

const TESTS = ['visible', 'hidden', 'only', 'fields', 'may', 'mayNot'];
const MEMBERS = ['name', 'claims', ...TESTS];
// The largest id (2^53 - 1) has 16 digits.
const ID = /^[1-9]\d{0,15}$/;

/** Reads the cases of a file; throws every mistake with its line. */
export async function readAccessFile(io: Io, path: string): Promise<readonly AccessCase[]> {
  const file = await readSchemaFile(io, path, 'access tests: an object with "cases"');
  const mistakes: CommandFailure[] = [];
  const report: Report = (location, message) => {
    mistakes.push(makeMistake(file, location, message));
  };
  const { cases, ...unknownMembers } = file.document as Record<string, unknown>;
  for (const name of Object.keys(unknownMembers)) report(name, `${name} means nothing here; known: cases`);
  const values = Array.isArray(cases) ? cases : [];
  if (values.length === 0) report('cases', 'cases must be a list with a case or more');
  const parsedCases = values.map((value, index) => parseCase(report, `cases.${index}`, value, index));
  throwMistakes(file, mistakes);
  return parsedCases.filter((parsed) => parsed !== undefined);
}

/** Reports a mistake at a path of the file. */
type Report = (path: string, message: string) => void;

/** Parses a case with the mistakes that it reports; returns undefined for a case that is no object or has no claims. */
function parseCase(report: Report, path: string, value: unknown, index: number): AccessCase | undefined {
  if (!isObject(value)) {
    report(path, 'a case must be an object with claims and records');
    return undefined;
  }
  const unknownNames = Object.keys(value).filter((member) => !MEMBERS.includes(member));
  for (const name of unknownNames)
    report(`${path}.${name}`, `${name} means nothing here; known: ${MEMBERS.join(', ')}`);
  const { name = `case ${index + 1}`, claims } = value;
  if (typeof name !== 'string') report(`${path}.name`, 'name must be text');
  if (!isObject(claims)) report(`${path}.claims`, 'claims must be an object ({} for a token without any)');
  const records = (member: string): Records => parseRecords(report, `${path}.${member}`, value[member]);
  const [visible, hidden, only] = [records('visible'), records('hidden'), records('only')];
  // A misspelt member may be the missing one.
  const isEmpty = TESTS.every((member) => isWithoutRecords(value[member]));
  if (isEmpty && unknownNames.length === 0) report(path, `a case without any of ${TESTS.join(', ')} tests nothing`);
  const fields = parseFields(report, `${path}.fields`, value.fields);
  const writes = [true, false].flatMap((isAllowed) => {
    const member = isAllowed ? 'may' : 'mayNot';
    return parseWrites(report, `${path}.${member}`, value[member]).map((write) => ({ ...write, isAllowed }));
  });
  for (const [entity, ids] of visible) {
    const duplicate = ids.find((id) => hidden.get(entity)?.includes(id) === true);
    if (duplicate !== undefined)
      report(`${path}.hidden.${entity}`, `record ${duplicate} of ${entity} cannot be visible and hidden`);
  }
  for (const entity of only.keys()) {
    if (visible.has(entity) || hidden.has(entity))
      report(`${path}.only.${entity}`, `only says all about ${entity}: leave it out of visible and hidden`);
  }
  return isObject(claims) ? { name: String(name), claims, visible, hidden, only, fields, writes } : undefined;
}

/** Returns true for a missing member of a case and for one without entities. */
const isWithoutRecords = (value: unknown): boolean =>
  value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0);

/** Parses ids by entity; leaves out what it reports. */
function parseRecords(report: Report, path: string, value: unknown): Records {
  const records = new Map<string, readonly string[]>();
  for (const [entity, ids] of parseMembers(report, path, value, 'the ids of each entity')) {
    const texts = parseIds(ids);
    if (texts === undefined) report(`${path}.${entity}`, IDS_FORM);
    else records.set(entity, texts);
  }
  return records;
}

/** Parses names of fields by entity; leaves out what it reports. */
function parseFields(report: Report, path: string, value: unknown): Records {
  const fields = new Map<string, readonly string[]>();
  for (const [entity, names] of parseMembers(report, path, value, 'the fields of each entity')) {
    if (Array.isArray(names) && names.every((name) => typeof name === 'string')) fields.set(entity, names);
    else report(`${path}.${entity}`, 'must be a list of fields such as [id, name]');
  }
  return fields;
}

/** Parses writes by operation and entity; leaves out what it reports. */
function parseWrites(report: Report, path: string, value: unknown): readonly Omit<WriteTrial, 'isAllowed'>[] {
  return parseMembers(report, path, value, WRITE_OPERATIONS.join(', ')).flatMap(([name, byEntity]) => {
    const operation = WRITE_OPERATIONS.find((one) => one === name);
    if (operation === undefined) {
      report(`${path}.${name}`, `${name} means nothing here; known: ${WRITE_OPERATIONS.join(', ')}`);
      return [];
    }
    return parseMembers(report, `${path}.${name}`, byEntity, 'the records of each entity').flatMap(
      ([entity, records]) =>
        parseTrials(report, `${path}.${name}.${entity}`, operation, records).map((trial) => ({
          operation,
          entity,
          ...trial,
        })),
    );
  });
}

function parseTrials(
  report: Report,
  path: string,
  operation: WriteOperation,
  records: unknown,
): readonly Pick<WriteTrial, 'id' | 'values'>[] {
  switch (operation) {
    case 'create':
      if (Array.isArray(records) && records.every(isObject))
        return records.map((values) => ({ id: undefined, values }));
      report(path, 'must be a list of records such as [{ name: x }]');
      return [];
    case 'update': {
      const entries = parseMembers(report, path, records, 'the new values of each record, by its id');
      for (const [id, values] of entries) {
        if (!ID.test(id) || !isObject(values))
          report(`${path}.${id}`, 'must be the new values of a record by its id, such as 7: { name: x }');
      }
      return entries.map(([id, values]) => ({ id, values }));
    }
    case 'delete': {
      const ids = parseIds(records);
      if (ids === undefined) report(path, IDS_FORM);
      return (ids ?? []).map((id) => ({ id, values: undefined }));
    }
    default:
      return operation satisfies never;
  }
}

/** Returns the members of an object; none for a missing one, and for what it reports. */
function parseMembers(
  report: Report,
  path: string,
  value: unknown,
  form: string,
): readonly (readonly [string, unknown])[] {
  if (value === undefined || value === null) return [];
  if (isObject(value)) return Object.entries(value);
  report(path, `must be an object: ${form}`);
  return [];
}

const IDS_FORM = 'must be a list of ids such as [1, 2]';

function parseIds(value: unknown): readonly string[] | undefined {
  const texts = Array.isArray(value) ? value.map((id) => numberText(id) ?? String(id)) : undefined;
  return texts?.every((text) => ID.test(text)) ? [...new Set(texts)] : undefined;
}
