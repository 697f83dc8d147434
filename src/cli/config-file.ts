// A configuration file: which organizations and workspaces there should be, with their schemas, rules, providers and
// credentials. Takes YAML or JSON, gives what it asks for, or a failure that names the line of what is wrong. It holds no
// secret: whatever has one is described by its name.
import { dirname, resolve } from 'node:path';
import { complete, LISTS, PARTS, type Part } from './config-parts.ts';
import { isSlug, type WorkspaceAddress, workspaceName } from './connection.ts';
import { failed } from './failure.ts';
import type { Io } from './io.ts';
import { isObject, mistakeIn, readSchemaFile, type SchemaFile } from './schema-file.ts';

export type Values = Readonly<Record<string, unknown>>;

export interface WantedWorkspace {
  readonly address: WorkspaceAddress;
  /** Undefined, as everywhere below: the file does not say, so it may be as it is. */
  readonly name: string | undefined;
  /** With the settings and row rules of the file in it, so that an entity never is in force without its rules. */
  readonly schema: SchemaFile | undefined;
  /** Of each entity, whole; only without a schema. */
  readonly settings: Readonly<Record<string, Values>>;
  readonly rowRules: Readonly<Record<string, readonly Values[]>>;
  /** By member of PARTS; null: there should be none. */
  readonly parts: Readonly<Record<string, Values | null>>;
  /** By member of LISTS, then by name. */
  readonly lists: Readonly<Record<string, Readonly<Record<string, Values>>>>;
}

export interface WantedOrganization {
  readonly slug: string;
  readonly name: string | undefined;
  readonly workspaces: readonly WantedWorkspace[];
}

const FORM = 'configuration: an object with "organizations"';
const WORKSPACE_MEMBERS = ['name', 'schema', 'settings', 'rowRules', ...Object.keys(PARTS), ...Object.keys(LISTS)];

/** Reads a configuration file (`-` is stdin) and the schema files that it names, relative to its own folder. */
export async function readConfigFile(io: Io, path: string): Promise<readonly WantedOrganization[]> {
  const file = await readSchemaFile(io, path, FORM);
  const folder = path === '-' ? io.cwd : dirname(path);
  return parseConfig(file, (name) => readSchemaFile(io, resolve(io.cwd, folder, name)));
}

/** What a file asks for; `readFile` gives the schema documents of `$file`. Throws a failure for the first mistake. */
export async function parseConfig(
  file: SchemaFile,
  readFile: (name: string) => Promise<SchemaFile>,
): Promise<readonly WantedOrganization[]> {
  const { organizations } = membersOf(file, '', file.document, ['organizations']);
  const wanted: WantedOrganization[] = [];
  for (const [slug, value] of entriesOf(file, 'organizations', organizations)) {
    const path = `organizations.${slug}`;
    needSlug(file, path, slug);
    const { name, workspaces } = membersOf(file, path, value ?? {}, ['name', 'workspaces']);
    const found: WantedWorkspace[] = [];
    for (const [workspace, content] of entriesOf(file, `${path}.workspaces`, workspaces ?? {})) {
      needSlug(file, `${path}.workspaces.${workspace}`, workspace);
      found.push(await parseWorkspace({ file, readFile }, { organization: slug, workspace }, content ?? {}));
    }
    wanted.push({ slug, name: textOf(file, `${path}.name`, name), workspaces: found });
  }
  return wanted;
}

/**
 * The part of a file that speaks of one workspace; the name of its organization is not part of it. A failure where the file
 * names no such workspace.
 */
export function onlyWorkspace(
  wanted: readonly WantedOrganization[],
  address: WorkspaceAddress,
): readonly WantedOrganization[] {
  const all = wanted.flatMap(({ workspaces }) => workspaces);
  const found = all.find((workspace) => workspaceName(workspace.address) === workspaceName(address));
  if (found === undefined) {
    const known = all.map((workspace) => workspaceName(workspace.address)).join(', ');
    throw failed(`The file names no workspace ${workspaceName(address)}. Known: ${known === '' ? 'none' : known}`);
  }
  return [{ slug: address.organization, name: undefined, workspaces: [found] }];
}

interface Source {
  readonly file: SchemaFile;
  readonly readFile: (name: string) => Promise<SchemaFile>;
}

async function parseWorkspace(source: Source, address: WorkspaceAddress, value: unknown): Promise<WantedWorkspace> {
  const { file } = source;
  const path = `organizations.${address.organization}.workspaces.${address.workspace}`;
  const given = membersOf(file, path, value, WORKSPACE_MEMBERS);
  const settings: Record<string, Values> = {};
  for (const [entity, values] of entriesOf(file, `${path}.settings`, given.settings ?? {})) {
    if (!isObject(values)) throw mistakeIn(file, `${path}.settings.${entity}`, 'settings must be an object');
    settings[entity] = values;
  }
  const rowRules: Record<string, readonly Values[]> = {};
  for (const [entity, rules] of entriesOf(file, `${path}.rowRules`, given.rowRules ?? {})) {
    if (!Array.isArray(rules) || !rules.every(isObject))
      throw mistakeIn(file, `${path}.rowRules.${entity}`, 'row rules must be a list of objects with column and claim');
    rowRules[entity] = rules;
  }
  const schema = given.schema === undefined ? undefined : await readSchema(source, `${path}.schema`, given.schema);
  const parts = Object.entries(PARTS).filter(([member]) => given[member] !== undefined);
  const lists = Object.entries(LISTS).filter(([member]) => given[member] !== undefined);
  return {
    address,
    name: textOf(file, `${path}.name`, given.name),
    schema: schema === undefined ? undefined : withRules({ file, path }, schema, { settings, rowRules }),
    settings: schema === undefined ? settings : {},
    rowRules: schema === undefined ? rowRules : {},
    parts: Object.fromEntries(
      parts.map(([member, part]) => [member, parsePart(file, `${path}.${member}`, part, given[member])]),
    ),
    lists: Object.fromEntries(
      lists.map(([member, list]) => [
        member,
        Object.fromEntries(
          entriesOf(file, `${path}.${member}`, given[member]).map(([name, item]) => [
            name,
            parsePart(file, `${path}.${member}.${name}`, list, item) ?? {},
          ]),
        ),
      ]),
    ),
  };
}

/** A document in the file itself, or `{$file: name}`. */
async function readSchema({ file, readFile }: Source, path: string, value: unknown): Promise<SchemaFile> {
  if (!isObject(value)) throw mistakeIn(file, path, 'schema must be a document or { $file: <name> }');
  if (!Object.hasOwn(value, '$file'))
    return { name: file.name, document: value, lineOf: (below) => file.lineOf(`${path}.${below}`) };
  const { $file: name } = membersOf(file, path, value, ['$file']);
  if (typeof name !== 'string') throw mistakeIn(file, `${path}.$file`, '$file must be the name of a file');
  return readFile(name);
}

/** The document with settings and row rules in their places. */
function withRules(
  { file, path }: { readonly file: SchemaFile; readonly path: string },
  schema: SchemaFile,
  given: { readonly settings: WantedWorkspace['settings']; readonly rowRules: WantedWorkspace['rowRules'] },
): SchemaFile {
  const { entities, ...others } = schema.document as Values;
  const placed: Record<string, unknown> = isObject(entities) ? { ...entities } : {};
  for (const [member, all] of Object.entries(given)) {
    for (const [entity, value] of Object.entries(all)) {
      const place = `${path}.${member}.${entity}`;
      const known = placed[entity];
      if (!isObject(known))
        throw mistakeIn(file, place, `the schema has no entity ${entity}. Known: ${Object.keys(placed).join(', ')}`);
      if (Object.hasOwn(known, member))
        throw mistakeIn(file, place, `the schema has ${member} of ${entity}, too: write them in one place`);
      placed[entity] = { ...known, [member]: value };
    }
  }
  return { ...schema, document: isObject(entities) ? { ...others, entities: placed } : schema.document };
}

function parsePart(file: SchemaFile, path: string, part: Part, value: unknown): Values | null {
  if (value === null && part.isAlways !== true) return null;
  const given = membersOf(file, path, value, Object.keys(part.members));
  for (const [name, member] of Object.entries(part.members)) {
    const asked = given[name];
    if (asked === undefined && member.default === undefined)
      throw mistakeIn(file, path, `${part.words} needs ${name}: ${member.form}`);
    if (asked !== undefined && !member.takes(asked))
      throw mistakeIn(file, `${path}.${name}`, `${name} must be ${member.form}`);
  }
  return complete(part, given);
}

function membersOf(file: SchemaFile, path: string, value: unknown, known: readonly string[]): Values {
  if (!isObject(value)) throw mistakeIn(file, path, `must be an object with ${known.join(', ')}`);
  for (const name of Object.keys(value)) {
    if (!known.includes(name))
      throw mistakeIn(file, `${path}.${name}`, `${name} means nothing here. Known: ${known.join(', ')}`);
  }
  return value;
}

function entriesOf(file: SchemaFile, path: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (!isObject(value)) throw mistakeIn(file, path, `${path.split('.').at(-1)} must be an object, by name`);
  return Object.entries(value);
}

function needSlug(file: SchemaFile, path: string, slug: string): void {
  if (!isSlug(slug))
    throw mistakeIn(file, path, `${slug} is no slug: lower-case letters, digits and hyphens, 63 at most`);
}

function textOf(file: SchemaFile, path: string, value: unknown): string | undefined {
  if (value !== undefined && (typeof value !== 'string' || value === ''))
    throw mistakeIn(file, path, 'name must be text');
  return value;
}
