// Generates the file of TypeScript types for the client from the OpenAPI document of a workspace: one interface, one line a
// column.
import { createHash } from 'node:crypto';

/** Members of a JSON Schema that types are generated from. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly (string | null)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  /** Value or operator of a field of an update. */
  readonly anyOf?: readonly [Schema, Schema];
  readonly 'x-wda'?: Extension;
}

interface Extension {
  readonly entity?: string;
  readonly relations?: Readonly<Record<string, RelationFacts>>;
  readonly mayHideWritten?: boolean;
  readonly precision?: number;
  readonly scale?: number;
}

interface RelationFacts {
  readonly entity: string;
  readonly isList: boolean;
  readonly isNullable: boolean;
  readonly isEmpty?: boolean;
}

export interface Description {
  readonly 'x-wda'?: { readonly organization: string; readonly workspace: string; readonly principal?: string };
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface TypeFileOptions {
  /** Name of the interface; by default from the workspace's slug. */
  readonly name?: string | undefined;
  /** Roles of the users that the types are for. */
  readonly roles?: readonly string[] | undefined;
}

/** Returns true for an OpenAPI document that types can be generated from. */
export const isDescription = (value: unknown): value is Description =>
  typeof value === 'object' && value !== null && 'x-wda' in value && 'components' in value;

/**
 * Generates the text of the file. The hash in its first line covers the lines below, so equal types have equal hashes on
 * every server.
 */
export function typeFile(description: Description, { name, roles = [] }: TypeFileOptions = {}): string {
  const schemas = description.components?.schemas ?? {};
  const { organization = '', workspace = '' } = description['x-wda'] ?? {};
  const type = name ?? interfaceName(workspace);
  const entities = Object.values(schemas).filter((schema) => schema['x-wda']?.entity !== undefined);
  const body = [
    `export interface ${type} {`,
    ...entities.flatMap((read) => entityLines(read, { schemas, type })),
    '}',
    '',
  ].join('\n');
  const importedTypes = ['Digits', 'DigitsIn'].filter((one) => new RegExp(`: ${one}\\b`).test(body));
  const whose = [`${organization}/${workspace}`, ...(roles.length === 0 ? [] : [`for ${roles.join(', ')}`])].join(' ');
  return [
    `// Types of the workspace ${toOneLine(whose)}, written by \`wda types\`: do not edit, write it again.`,
    `// ${createHash('sha256').update(body).digest('base64url').slice(0, 22)}`,
    ...(importedTypes.length === 0
      ? []
      : [`import type { ${importedTypes.join(', ')} } from 'workspace-data-client';`]),
    '',
    body,
  ].join('\n');
}

/** First line of a file, which names the workspace. */
export const FIRST_LINE = /^\/\/ Types of the workspace .*\n/;

/** Returns the name of the interface in a file of types, or undefined if there is none. */
export const readInterfaceName = (text = ''): string | undefined => /^export interface ([\w$]+) \{$/m.exec(text)?.[1];

/** Converts `my-shop` to `MyShop`. */
function interfaceName(slug: string): string {
  const words = slug.split(/[^A-Za-z0-9]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  const joined = words.join('');
  return /^[A-Z]/.test(joined) ? joined : `Workspace${joined}`;
}

interface Context {
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly type: string;
}

function entityLines(read: Schema, { schemas, type }: Context): string[] {
  const { entity = '', relations = {}, mayHideWritten = false } = read['x-wda'] ?? {};
  const columns = Object.entries(read.properties ?? {}).filter(([name]) => !Object.hasOwn(relations, name));
  const [create, update] = [schemas[`${entity}.Create`], schemas[`${entity}.Update`]];
  const listNames = (body: Schema | undefined): string | undefined => body && Object.keys(body.properties ?? {}).join();
  const idAlone = columns.length === 1 ? '' : `${type}[${quoted(entity)}]['row'] | `;
  return [
    ...(read.description === undefined || read.description === `A record of ${entity}.`
      ? []
      : [`  ${comment(read.description).trimEnd()}`]),
    `  ${key(entity)}: {`,
    '    row: {',
    ...columns.map(([name, schema]) => `      ${comment(schema.description)}${key(name)}: ${rowType(schema)};`),
    '    };',
    ...(create === undefined ? ['    create: never;'] : bodyLines('create', create)),
    ...(create !== undefined && listNames(create) === listNames(update)
      ? [`    update: Partial<${type}[${quoted(entity)}]['create']>;`]
      : update === undefined
        ? ['    update: never;']
        : bodyLines('update', update)),
    ...(mayHideWritten ? [`    written: ${idAlone}{ id: number };`] : []),
    ...relationLines(relations),
    '  };',
  ];
}

function bodyLines(member: string, { properties = {}, required = [] }: Schema): string[] {
  return [
    `    ${member}: {`,
    ...Object.entries(properties).map(
      ([name, schema]) =>
        `      ${comment(schema.description)}${key(name)}${required.includes(name) ? '' : '?'}: ${bodyType(schema)};`,
    ),
    '    };',
  ];
}

function relationLines(relations: Readonly<Record<string, RelationFacts>>): string[] {
  const entries = Object.entries(relations);
  if (entries.length === 0) return ['    relations: Record<never, never>;'];
  return [
    '    relations: {',
    ...entries.map(([name, facts]) => `      ${key(name)}: ${relationType(facts)};`),
    '    };',
  ];
}

function relationType({ entity, isList, isNullable, isEmpty = false }: RelationFacts): string {
  if (isEmpty) return isList ? 'never[]' : 'null';
  return `${quoted(entity)}${isList ? '[]' : isNullable ? ' | null' : ''}`;
}

/** Returns the type of a column in responses: a number only if a double represents each of its values. */
const rowType = (schema: Schema): string => formatType(schema, isExact(schema) ? 'number' : 'Digits');

/** Returns the type of a column in request bodies; the client adds the operators. */
const bodyType = ({ anyOf, ...rest }: Schema): string => {
  const schema = anyOf?.[0] ?? rest;
  return formatType(schema, listTypes(schema).includes('string') ? 'DigitsIn' : 'number');
};

const listTypes = ({ type = [] }: Schema): readonly string[] => [type].flat();

function formatType(schema: Schema, number: string): string {
  const types = listTypes(schema);
  const [first] = types;
  if (first === undefined) return 'unknown';
  // Ids of related records.
  if (first === 'array') return 'number[]';
  const values = schema.enum?.filter((value) => value !== null).map((value) => quoted(value));
  const isNumber = types.includes('number') || types.includes('integer');
  const one = values?.join(' | ') ?? (isNumber ? number : first);
  return types.includes('null') ? `${one} | null` : one;
}

// A double may round numbers with more digits.
const EXACT_DIGITS = 15;

function isExact(schema: Schema): boolean {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, format } = schema;
  if (listTypes(schema).includes('integer')) return Number.isSafeInteger(minimum) && Number.isSafeInteger(maximum);
  return format !== 'decimal' || (schema['x-wda']?.precision ?? Number.POSITIVE_INFINITY) <= EXACT_DIGITS;
}

/** Formats a description as a comment of one line. */
const comment = (text: string | undefined): string =>
  text === undefined || text.trim() === '' ? '' : `/** ${toOneLine(text.replaceAll('*/', '*\\/'))} */ `;

const toOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

// Control characters and line breaks, also those of Unicode: a line break ends a string literal.
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}]/gu;
const toEscape = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&').replaceAll(CONTROLS, toEscape)}'`;
const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));
