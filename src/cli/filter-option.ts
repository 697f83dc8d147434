// Filters and values on the command line: `field,op,value`, as in URLs, becomes a filter tree, where values have types.
import { parseExact } from '../model/exact-json.ts';
import type { AdminClient } from './admin-client.ts';
import { usageFailure } from './failure.ts';
import { isObject } from './schema-file.ts';

interface FieldDocument {
  readonly type?: string;
}
interface Schema {
  readonly entities: Readonly<Record<string, { readonly fields?: Readonly<Record<string, FieldDocument>> }>>;
}

const NUMBERS = ['integer', 'bigint', 'decimal', 'float'];
const LISTS = ['in', 'nin', 'between'];

/** Types of the fields of an entity by name; references and ids are not among them. */
export type FieldTypes = (field: string) => string | undefined;

/** Parses the values of --filter: conditions that must all hold, or a filter as JSON. `loadTypes`: asks the server. */
export async function parseFilterOption(
  texts: readonly string[],
  loadTypes: () => Promise<FieldTypes>,
): Promise<unknown> {
  const [first = ''] = texts;
  if (texts.length === 1 && first.trimStart().startsWith('{')) return parseJson(first);
  const getType = await loadTypes();
  const conditions = texts.map((text) => parseCondition(text, getType));
  return conditions.length === 1 ? conditions[0] : { and: conditions };
}

/** Loads the types of the fields of an entity. `path`: of the schema of the workspace, in the admin API or the data API. */
export async function loadFieldTypes(client: AdminClient, path: string, entity: string): Promise<FieldTypes> {
  const { data } = await client.send<Schema>('GET', path);
  const fields = data.entities[entity]?.fields ?? {};
  return (field) => fields[field]?.type;
}

function parseJson(text: string): unknown {
  try {
    const filter = parseExact(text);
    if (isObject(filter)) return filter;
  } catch {}
  throw usageFailure(`--filter takes ${FORM}, not ${text}`);
}

const FORM = '<field>,<op>[,<value>], or a filter as JSON';

/** Parses `field,op[,value]`; a backslash stands before a comma that belongs to a value. */
export function parseCondition(text: string, getType: FieldTypes): object {
  const [field, op, ...values] = text.split(/(?<!\\),/).map((part) => part.replaceAll(/\\([\\,])/g, '$1'));
  if (!field || !op) throw usageFailure(`--filter takes ${FORM}, not ${text}`);
  const toValue = (value: string): unknown => parseValue(value, getType(field));
  if (LISTS.includes(op)) return { field, op, value: values.map(toValue) };
  return values.length === 0 ? { field, op } : { field, op, value: toValue(values.join()) };
}

/** Returns the JSON value of a text; a field that the schema does not list is an id, or holds the id of another record. */
export function parseValue(text: string, type: string | undefined): unknown {
  const isNumber = /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text);
  if (isNumber && (type === undefined || NUMBERS.includes(type))) return parseExact(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
