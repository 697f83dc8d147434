// The door to the SQL tag: the only place that quotes identifiers or makes SQL from a string. A Fragment is text with
// values in it; a value is an Operand, bound as $n and never part of the text, so that one text serves every request
// of its shape.
import tag, { join as joinFragments, raw, type Sql } from 'sql-template-tag';

export type Fragment = Sql;

/** What PostgreSQL gets: text with $1…, the values in order, and a name when the statement is to be prepared. */
export interface Query {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly name?: string;
  /**
   * The same question in words that let PostgreSQL build no answer beyond the limit, where the plain ones would only
   * look at what was built. They cost more, and are for runs that may take their time.
   */
  readonly bounded?: () => Pick<Query, 'text' | 'values'>;
}

/** Composes SQL; interpolated fragments are spliced, anything else becomes a bound value. */
export const sql: (strings: TemplateStringsArray, ...values: readonly unknown[]) => Fragment = tag;

const identifiers = new Map<string, Fragment>();
// Names come from schemas of workspaces: bounded by dropping the lot, as refilling costs less than bookkeeping.
const MAX_IDENTIFIERS = 50_000;

/** A quoted identifier. Callers pass names that they looked up in a schema, never text of a request. */
export function ident(name: string): Fragment {
  const cached = identifiers.get(name);
  if (cached !== undefined) return cached;
  if (identifiers.size >= MAX_IDENTIFIERS) identifiers.clear();
  const fragment = raw(`"${name.replaceAll('"', '""')}"`);
  identifiers.set(name, fragment);
  return fragment;
}

export interface TableName {
  readonly schema: string;
  readonly name: string;
}

/** A table with its schema, or what else a schema holds. */
export const tableRef = ({ schema, name }: TableName): Fragment => sql`${ident(schema)}.${ident(name)}`;

/** A string literal, for DDL, where PostgreSQL takes no bound values. */
export function literal(text: string): Fragment {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return raw(text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted);
}

/**
 * A whole number in the text itself, for page sizes: of a bound limit PostgreSQL supposes a tenth of the table, finds
 * every general plan too expensive and plans the statement anew on each run (20 of a million records: 0.17 instead of
 * 0.11 ms). Throws RangeError for anything else.
 */
export function integerLiteral(value: number): Fragment {
  if (!Number.isSafeInteger(value)) throw new RangeError('not a whole number');
  return raw(String(value));
}

/** A fixed piece of SQL out of this code base (a type name, an operator): never text from outside. */
export function keyword<const T extends string>(text: T): Fragment {
  return raw(text);
}

/** Fragments with a separator between them; `empty` for none. */
export function join(fragments: readonly Fragment[], separator = ', '): Fragment {
  return fragments.length === 0 ? empty : joinFragments([...fragments], separator);
}

export const empty: Fragment = raw('');

/** Closes a fragment into a query whose values are taken as they are. */
export function toQuery(fragment: Fragment, name?: string): Query {
  return { text: fragment.text, values: fragment.values, ...(name === undefined ? {} : { name }) };
}

/** Several statements as one text. */
export function script(statements: readonly Fragment[]): string {
  return statements.map((statement) => `${statement.text};\n`).join('');
}
