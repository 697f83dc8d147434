// Parses a file of access tests (YAML or JSON): visible and hidden records for given claims. Failures name the line of the
// mistake.
import { numberText } from '../model/exact-json.ts';
import type { Io } from './io.ts';
import { isObject, makeMistake, readSchemaFile, type SchemaFile } from './schema-file.ts';

/** Ids by entity. */
export type Records = ReadonlyMap<string, readonly string[]>;

export interface AccessCase {
  readonly name: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly visible: Records;
  readonly hidden: Records;
  /** Records that are visible while every other record of their entity is hidden. */
  readonly only: Records;
}

const MEMBERS = ['name', 'claims', 'visible', 'hidden', 'only'];
// The largest id (2^53 - 1) has 16 digits.
const ID = /^[1-9]\d{0,15}$/;

export async function readAccessFile(io: Io, path: string): Promise<readonly AccessCase[]> {
  const file = await readSchemaFile(io, path, 'access tests: an object with "cases"');
  const { cases, ...unknownMembers } = file.document as Record<string, unknown>;
  for (const name of Object.keys(unknownMembers))
    throw makeMistake(file, name, `${name} means nothing here; known: cases`);
  if (!Array.isArray(cases) || cases.length === 0)
    throw makeMistake(file, 'cases', 'cases must be a list with a case or more');
  return cases.map((value, index) => parseCase(file, `cases.${index}`, value, index));
}

function parseCase(file: SchemaFile, path: string, value: unknown, index: number): AccessCase {
  if (!isObject(value)) throw makeMistake(file, path, 'a case must be an object with claims and records');
  for (const member of Object.keys(value)) {
    if (!MEMBERS.includes(member))
      throw makeMistake(file, `${path}.${member}`, `${member} means nothing here; known: ${MEMBERS.join(', ')}`);
  }
  const { name = `case ${index + 1}`, claims } = value;
  if (typeof name !== 'string') throw makeMistake(file, `${path}.name`, 'name must be text');
  if (!isObject(claims))
    throw makeMistake(file, `${path}.claims`, 'claims must be an object ({} for a token without any)');
  const records = (member: string): Records => parseRecords(file, `${path}.${member}`, value[member]);
  const parsed = { name, claims, visible: records('visible'), hidden: records('hidden'), only: records('only') };
  if (parsed.visible.size + parsed.hidden.size + parsed.only.size === 0) {
    throw makeMistake(file, path, 'a case without visible, hidden or only tests nothing');
  }
  for (const [entity, ids] of parsed.visible) {
    const duplicate = ids.find((id) => parsed.hidden.get(entity)?.includes(id) === true);
    if (duplicate !== undefined)
      throw makeMistake(
        file,
        `${path}.hidden.${entity}`,
        `record ${duplicate} of ${entity} cannot be visible and hidden`,
      );
  }
  for (const entity of parsed.only.keys()) {
    if (parsed.visible.has(entity) || parsed.hidden.has(entity)) {
      throw makeMistake(
        file,
        `${path}.only.${entity}`,
        `only says all about ${entity}: leave it out of visible and hidden`,
      );
    }
  }
  return parsed;
}

function parseRecords(file: SchemaFile, path: string, value: unknown): Records {
  if (value === undefined || value === null) return new Map();
  if (!isObject(value)) throw makeMistake(file, path, 'must be an object: the ids of each entity');
  return new Map(
    Object.entries(value).map(([entity, ids]) => {
      const texts = Array.isArray(ids) ? ids.map((id) => numberText(id) ?? String(id)) : undefined;
      const invalidId = texts?.find((text) => !ID.test(text));
      if (texts === undefined || invalidId !== undefined)
        throw makeMistake(file, `${path}.${entity}`, 'must be a list of ids such as [1, 2]');
      return [entity, [...new Set(texts)]];
    }),
  );
}
