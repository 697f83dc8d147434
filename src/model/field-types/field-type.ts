// What a field type is: everything that the rest of the code needs to know of one. Each type is a file beside this one;
// ../field-types.ts joins them.
import type { DetailCode } from '../../errors.ts';

export type FieldTypeName =
  | 'string'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'date'
  | 'datetime'
  | 'time'
  | 'uuid'
  | 'json'
  | 'enum';

/**
 * A value in the text form of its PostgreSQL type, or the mistake in it. `growth`: characters by which PostgreSQL will
 * print a json longer than it was written.
 */
export type Decoded =
  | { readonly ok: true; readonly value: string; readonly expandedBytes?: number }
  | { readonly ok: false; readonly code: DetailCode; readonly message: string };

/** The attributes of a field that a type looks at. */
export interface TypeAttributes {
  readonly maxLength?: number | undefined;
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  readonly values?: readonly string[] | undefined;
}

/** Parts of the calendar by whose beginning moments and days can be grouped. */
export const DATE_PARTS = ['year', 'quarter', 'month', 'week', 'day', 'hour'] as const;
export type DatePart = (typeof DATE_PARTS)[number];

/** How the values of a type of numbers are added up. */
export interface Summing {
  /**
   * `plain`: PostgreSQL adds them without loss. `text`: it adds their decimal texts, as the sum of floats would depend on
   * their order.
   */
  readonly by: 'plain' | 'text';
  /** Digits after the point; undefined: each value has its own number of them. */
  readonly digits: (field: TypeAttributes) => number | undefined;
}

/** A schema of JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A default that PostgreSQL generates for each record. */
export interface Generated {
  /** The word for it in the schema document. */
  readonly word: string;
  /** SQL. Part of statements as it is, so it stands in the code and comes from nowhere else. */
  readonly expression: string;
  /**
   * True when it gives another value for each record of one statement: a column that is added with it is then written
   * record by record.
   */
  readonly varies: boolean;
}

export interface FieldType {
  /** What sets the type apart, in a few words for the schema of documents; null when its name says it. */
  readonly label: string | null;
  /** PostgreSQL type of the column, without constraints. */
  readonly columnType: (field: TypeAttributes) => string;
  /** PostgreSQL type that a bound value is cast to. */
  readonly bindType: string;
  /** What a value is in JSON bodies and responses. */
  readonly json: 'number' | 'string' | 'boolean' | 'any';
  /** JSON Schema of a value that is not null, as responses have it. */
  readonly schema: (field: TypeAttributes) => JsonSchema;
  /** Of numbers: bodies may have their digits in a string, too. */
  readonly takesDigits?: true;
  /** A value for the examples of descriptions, as JSON; a field's attributes may refuse it. */
  readonly example: boolean | number | string | Readonly<Record<string, unknown>>;
  /** `plain`: PostgreSQL's text of the column is that of the API. */
  readonly output: 'plain' | 'datetime';
  /** Value of a JSON body (never null) -> text of the PostgreSQL type. */
  readonly decode: (value: unknown, field: TypeAttributes) => Decoded;
  /** Text of a filter or a cursor -> text of the PostgreSQL type. */
  readonly parseText: (text: string, field: TypeAttributes) => Decoded;
  /**
   * Text of an imported file (a CSV cell that is not empty, a string of NDJSON) -> text of the PostgreSQL type. Takes
   * more forms than parseText, as files have them. How a cell is written follows from `json` and `textual`.
   */
  readonly cell: (text: string, field: TypeAttributes) => Decoded;
  /** Bounds, lengths and digits of a decoded value that is to be stored. */
  readonly check?: (value: string, field: TypeAttributes) => Decoded;
  /** True when two decoded values are equal to the database. */
  readonly equal: (one: string, right: string) => boolean;
  /** A decoded value for a required column while its values are converted; no request sees it. */
  readonly placeholder: string;
  readonly generated: Generated | null;
  /** Attributes of a schema document that mean something for this type. */
  readonly attributes: readonly ('maxLength' | 'precision' | 'scale' | 'min' | 'max' | 'values')[];
  /** True when "greater" and "between" mean something. */
  readonly ordered: boolean;
  readonly textual: boolean;
  /** True when it can be in a sort, an index, a unique constraint or a row rule. */
  readonly comparable: boolean;
  /**
   * What limits the bytes of a value. `fixed`: its type. `text`: its length, which PostgreSQL knows without reading it.
   * `printed`: only its text tells.
   */
  readonly size: (field: TypeAttributes) => 'fixed' | 'text' | 'printed';
  /** Only of types of numbers. */
  readonly summing?: Summing;
  /** Parts of the calendar by which it can be grouped; undefined: none. */
  readonly parts?: readonly DatePart[];
  /** Not all versions of PostgreSQL have min() and max() of the type; its texts have the same order byte by byte. */
  readonly extremesByText?: true;
}
