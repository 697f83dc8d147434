// Parses a configuration file (YAML or JSON): organizations and workspaces with their schemas, rules, providers and
// credentials. Failures name the line of the mistake. A file has no secrets: keys and clients are described by name.
import { dirname, resolve } from 'node:path';
import type { LimitChange } from '../../admin-types/admin-api.d.ts';
import { isSlug, type WorkspaceAddress, workspaceName } from './command.ts';
import { complete, grantMembers, LISTS, names, PARTS, type Part, type Values } from './config-parts.ts';
import { runtimeFailure } from './failure.ts';
import type { Io } from './io.ts';
import { isObject, makeMistake, readSchemaFile, type SchemaFile } from './schema-file.ts';

export interface DesiredWorkspace {
  readonly address: WorkspaceAddress;
  /** Display name, or undefined if the file leaves it as it is (also below). */
  readonly name: string | undefined;
  readonly state: string | undefined;
  /** Limits of its own, of which those that are left out stay; null: that of the organization. */
  readonly limits: LimitChange | undefined;
  /** Origins of its pages, or null for those of the server. */
  readonly corsOrigins: readonly string[] | null | undefined;
  /** Shared schema that it follows, of the given version or any; null for none. */
  readonly follows: { readonly schema: string; readonly version: number | undefined } | null | undefined;
  /** Schema with the settings, row rules, grants and roles of the file, so that no entity is ever in force without them. */
  readonly schema: SchemaFile | undefined;
  /** Complete settings by entity; only without a schema. */
  readonly settings: Readonly<Record<string, Values>>;
  readonly rowRules: Readonly<Record<string, readonly Values[]>>;
  /** Grants by entity, null to remove them, and roles; only without a schema. */
  readonly grants: Readonly<Record<string, readonly Values[] | null>>;
  readonly roles: readonly string[] | undefined;
  /** Parts by member of PARTS; null removes a part. */
  readonly parts: Readonly<Record<string, Values | null>>;
  /** Items by member of LISTS, then by name. */
  readonly lists: Readonly<Record<string, Readonly<Record<string, Values>>>>;
}

export interface DesiredOrganization {
  readonly slug: string;
  readonly name: string | undefined;
  /** Limits of its workspaces that have none of their own; null: none. */
  readonly limits: LimitChange | undefined;
  /** Newest versions of shared schemas by name. */
  readonly schemas: Readonly<Record<string, SchemaFile>>;
  readonly workspaces: readonly DesiredWorkspace[];
}

const FORM = 'configuration: an object with "organizations"';
const WORKSPACE_MEMBERS = [
  'name',
  'state',
  'limits',
  'corsOrigins',
  'follows',
  'schema',
  'settings',
  'rowRules',
  'roles',
  'grants',
  ...Object.keys(PARTS),
  ...Object.keys(LISTS),
];

/** Reads a configuration file (`-` is stdin) and the schema files that it names, relative to its own folder. */
export async function readConfigFile(io: Io, path: string): Promise<readonly DesiredOrganization[]> {
  const file = await readSchemaFile(io, path, FORM);
  const folder = path === '-' ? io.cwd : dirname(path);
  return parseConfig(file, (name) => readSchemaFile(io, resolve(io.cwd, folder, name)));
}

/** Parses a configuration; `readFile` loads the schema documents of `$file`. Throws a failure for the first mistake. */
export async function parseConfig(
  file: SchemaFile,
  readFile: (name: string) => Promise<SchemaFile>,
): Promise<readonly DesiredOrganization[]> {
  const { organizations } = parseMembers(file, '', file.document, ['organizations']);
  const desired: DesiredOrganization[] = [];
  for (const [slug, value] of parseEntries(file, 'organizations', organizations)) {
    const path = `organizations.${slug}`;
    requireSlug(file, path, slug);
    const members = parseMembers(file, path, value ?? {}, ['name', 'limits', 'schemas', 'workspaces']);
    const { name, limits, schemas, workspaces } = members;
    const schemaFiles: Record<string, SchemaFile> = {};
    for (const [schema, content] of parseEntries(file, `${path}.schemas`, schemas ?? {})) {
      requireSlug(file, `${path}.schemas.${schema}`, schema);
      schemaFiles[schema] = await readSchema({ file, readFile }, `${path}.schemas.${schema}`, content);
    }
    const desiredWorkspaces: DesiredWorkspace[] = [];
    for (const [workspace, content] of parseEntries(file, `${path}.workspaces`, workspaces ?? {})) {
      requireSlug(file, `${path}.workspaces.${workspace}`, workspace);
      desiredWorkspaces.push(
        await parseWorkspace({ file, readFile }, { organization: slug, workspace }, content ?? {}),
      );
    }
    desired.push({
      slug,
      name: parseText(file, `${path}.name`, name),
      limits: parseLimits(file, `${path}.limits`, limits),
      schemas: schemaFiles,
      workspaces: desiredWorkspaces,
    });
  }
  return desired;
}

/**
 * Returns the part of a file about one workspace, without name, limits and shared schemas of its organization. Throws a failure if the file does
 * not name the workspace.
 */
export function selectWorkspace(
  desired: readonly DesiredOrganization[],
  address: WorkspaceAddress,
): readonly DesiredOrganization[] {
  const all = desired.flatMap(({ workspaces }) => workspaces);
  const match = all.find((workspace) => workspaceName(workspace.address) === workspaceName(address));
  if (match === undefined) {
    const names = all.map((workspace) => workspaceName(workspace.address)).join(', ');
    throw runtimeFailure(
      `The file names no workspace ${workspaceName(address)}. Known: ${names === '' ? 'none' : names}`,
    );
  }
  return [{ slug: address.organization, name: undefined, limits: undefined, schemas: {}, workspaces: [match] }];
}

interface Source {
  readonly file: SchemaFile;
  readonly readFile: (name: string) => Promise<SchemaFile>;
}

async function parseWorkspace(source: Source, address: WorkspaceAddress, value: unknown): Promise<DesiredWorkspace> {
  const { file } = source;
  const path = `organizations.${address.organization}.workspaces.${address.workspace}`;
  const members = parseMembers(file, path, value, WORKSPACE_MEMBERS);
  const follows = parseFollows(file, `${path}.follows`, members.follows);
  const own = ['schema', 'settings', 'rowRules', 'roles', 'grants'].find((member) => members[member] !== undefined);
  if (follows && own !== undefined)
    throw makeMistake(file, `${path}.${own}`, `${own} is that of the shared schema that the workspace follows`);
  const { settings, rowRules, grants, roles } = parseAdditions(file, path, members);
  const schema = members.schema === undefined ? undefined : await readSchema(source, `${path}.schema`, members.schema);
  const parts = Object.entries(PARTS).filter(([member]) => members[member] !== undefined);
  const lists = Object.entries(LISTS).filter(([member]) => members[member] !== undefined);
  return {
    address,
    name: parseText(file, `${path}.name`, members.name),
    state: parseState(file, `${path}.state`, members.state),
    limits: parseLimits(file, `${path}.limits`, members.limits),
    corsOrigins: parseOrigins(file, `${path}.corsOrigins`, members.corsOrigins),
    follows,
    schema:
      schema === undefined ? undefined : withAdditions({ file, path }, schema, { settings, rowRules, grants, roles }),
    settings: schema === undefined ? settings : {},
    rowRules: schema === undefined ? rowRules : {},
    grants: schema === undefined ? grants : {},
    roles: schema === undefined ? roles : undefined,
    parts: Object.fromEntries(
      parts.map(([member, part]) => [member, parsePart(file, `${path}.${member}`, part, members[member])]),
    ),
    lists: Object.fromEntries(
      lists.map(([member, list]) => [
        member,
        Object.fromEntries(
          parseEntries(file, `${path}.${member}`, members[member]).map(([name, item]) => [
            name,
            parsePart(file, `${path}.${member}.${name}`, list, item) ?? {},
          ]),
        ),
      ]),
    ),
  };
}

type Additions = Pick<DesiredWorkspace, 'settings' | 'rowRules' | 'grants' | 'roles'>;

/** Parses the members that are added to the schema of a workspace. */
function parseAdditions(file: SchemaFile, path: string, members: Values): Additions {
  const parseByEntity = <T>(member: string, accepts: (value: unknown) => value is T, form: string): Record<string, T> =>
    Object.fromEntries(
      parseEntries(file, `${path}.${member}`, members[member] ?? {}).map(([entity, value]) => {
        if (!accepts(value)) throw makeMistake(file, `${path}.${member}.${entity}`, form);
        return [entity, value];
      }),
    );
  const isList = (value: unknown): value is readonly Values[] => Array.isArray(value) && value.every(isObject);
  const isListOrNull = (value: unknown): value is readonly Values[] | null => value === null || isList(value);
  const { roles } = members;
  if (roles !== undefined && !names.accepts(roles))
    throw makeMistake(file, `${path}.roles`, 'roles must be a list of names');
  return {
    settings: parseByEntity('settings', isObject, 'settings must be an object'),
    rowRules: parseByEntity('rowRules', isList, 'row rules must be a list of objects with column and claim'),
    grants: parseByEntity('grants', isListOrNull, 'grants must be a list of objects with role and can, or null'),
    roles: roles as readonly string[] | undefined,
  };
}

/** Parses `helpdesk`, `{schema: helpdesk, version: 3}` or null. */
function parseFollows(file: SchemaFile, path: string, value: unknown): DesiredWorkspace['follows'] {
  if (value === undefined || value === null) return value;
  const { schema, version } =
    typeof value === 'string' ? { schema: value } : parseMembers(file, path, value, ['schema', 'version']);
  if (typeof schema !== 'string')
    throw makeMistake(file, path, 'follows must be the name of a shared schema, or an object with schema and version');
  requireSlug(file, path, schema);
  if (version !== undefined && !(Number.isInteger(version) && Number(version) > 0))
    throw makeMistake(file, `${path}.version`, 'version must be a number from 1 on');
  return { schema, version: version as number | undefined };
}

/** Reads a schema document from the file itself or from `{$file: name}`. */
async function readSchema({ file, readFile }: Source, path: string, value: unknown): Promise<SchemaFile> {
  if (!isObject(value)) throw makeMistake(file, path, 'schema must be a document or { $file: <name> }');
  if (!Object.hasOwn(value, '$file'))
    return { name: file.name, document: value, getLine: (below) => file.getLine(`${path}.${below}`) };
  const { $file: name } = parseMembers(file, path, value, ['$file']);
  if (typeof name !== 'string') throw makeMistake(file, `${path}.$file`, '$file must be the name of a file');
  return readFile(name);
}

/** Returns the document with roles, and settings, row rules and grants of its entities. */
function withAdditions(
  { file, path }: { readonly file: SchemaFile; readonly path: string },
  schema: SchemaFile,
  { roles, ...additions }: Additions,
): SchemaFile {
  const document = schema.document as Values;
  const { entities } = document;
  const entityDocuments: Record<string, unknown> = isObject(entities) ? { ...entities } : {};
  if (roles !== undefined && Object.hasOwn(document, 'roles'))
    throw makeMistake(file, `${path}.roles`, 'the schema has roles, too: write them in one place');
  for (const [member, all] of Object.entries(additions)) {
    for (const [entity, value] of Object.entries(all)) {
      const location = `${path}.${member}.${entity}`;
      const entityDocument = entityDocuments[entity];
      if (!isObject(entityDocument))
        throw makeMistake(
          file,
          location,
          `the schema has no entity ${entity}. Known: ${Object.keys(entityDocuments).join(', ')}`,
        );
      if (Object.hasOwn(entityDocument, member))
        throw makeMistake(file, location, `the schema has ${member} of ${entity}, too: write them in one place`);
      entityDocuments[entity] = { ...entityDocument, [member]: value };
    }
  }
  return {
    ...schema,
    document: {
      ...document,
      ...(roles === undefined ? {} : { roles }),
      ...(isObject(entities) ? { entities: entityDocuments } : {}),
    },
  };
}

function parsePart(file: SchemaFile, path: string, part: Part, value: unknown): Values | null {
  if (value === null && part.isAlwaysPresent !== true) return null;
  const members = parseMembers(file, path, value, Object.keys(part.members));
  for (const [name, member] of Object.entries(part.members)) {
    const memberValue = members[name];
    if (memberValue === undefined && member.default === undefined)
      throw makeMistake(file, path, `${part.label} needs ${name}: ${member.form}`);
    if (memberValue !== undefined && !member.accepts(memberValue))
      throw makeMistake(file, `${path}.${name}`, `${name} must be ${member.form}`);
  }
  for (const name of Object.keys(grantMembers)) {
    if (Object.hasOwn(members, name) && members.permissions !== 'GRANTS')
      throw makeMistake(file, `${path}.${name}`, `${name} means nothing without the permissions GRANTS`);
  }
  return complete(part, members);
}

function parseMembers(file: SchemaFile, path: string, value: unknown, allowed: readonly string[]): Values {
  if (!isObject(value)) throw makeMistake(file, path, `must be an object with ${allowed.join(', ')}`);
  for (const name of Object.keys(value)) {
    if (!allowed.includes(name))
      throw makeMistake(file, `${path}.${name}`, `${name} means nothing here. Known: ${allowed.join(', ')}`);
  }
  return value;
}

function parseEntries(file: SchemaFile, path: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (!isObject(value)) throw makeMistake(file, path, `${path.split('.').at(-1)} must be an object, by name`);
  return Object.entries(value);
}

function requireSlug(file: SchemaFile, path: string, slug: string): void {
  if (!isSlug(slug))
    throw makeMistake(file, path, `${slug} is no slug: lower-case letters, digits and hyphens, 63 at most`);
}

// The states that the admin API knows.
const STATES = ['active', 'readOnly', 'suspended'];

function parseState(file: SchemaFile, path: string, state: unknown): string | undefined {
  if (state !== undefined && !STATES.some((one) => one === state))
    throw makeMistake(file, path, `state must be ${STATES.join(', ')}`);
  return state as string | undefined;
}

/** Names of the limits that the admin API knows. */
export const LIMIT_NAMES = ['maxRecords', 'maxBytes', 'maxRequestsPerMinute'] as const;

function parseLimits(file: SchemaFile, path: string, value: unknown): LimitChange | undefined {
  if (value === undefined) return undefined;
  const limits = parseMembers(file, path, value, LIMIT_NAMES);
  for (const [name, limit] of Object.entries(limits)) {
    if (limit !== null && !(Number.isSafeInteger(limit) && Number(limit) >= 0))
      throw makeMistake(file, `${path}.${name}`, `${name} must be a whole number, or null for none here`);
  }
  return limits as LimitChange;
}

function parseOrigins(file: SchemaFile, path: string, origins: unknown): readonly string[] | null | undefined {
  if (origins !== undefined && origins !== null && !names.accepts(origins))
    throw makeMistake(file, path, 'corsOrigins must be a list of origins, or null for those of the server');
  return origins as readonly string[] | null | undefined;
}

function parseText(file: SchemaFile, path: string, value: unknown): string | undefined {
  if (value !== undefined && (typeof value !== 'string' || value === ''))
    throw makeMistake(file, path, 'name must be text');
  return value;
}
