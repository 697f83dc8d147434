// Interface of a field type: everything that the rest of the code needs to know of one. Each type is a file of this
// folder; ../field-types.ts joins them.
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

/** Attributes of a field that a type reads. */
export interface TypeAttributes {
  readonly maxLength?: number | undefined;
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  readonly values?: readonly string[] | undefined;
}

/** Units of the calendar by which timestamps and days can be grouped. */
export const DATE_PARTS = ['year', 'quarter', 'month', 'week', 'day', 'hour'] as const;
export type DatePart = (typeof DATE_PARTS)[number];

/** Summing of the values of a type of numbers. */
export interface Summing {
  /**
   * `plain`: PostgreSQL adds them without loss. `text`: it adds their decimal texts, as the sum of floats would depend
   * on their order.
   */
  readonly by: 'plain' | 'text';
  /** Returns the digits after the point, or undefined if each value has its own number of them. */
  readonly digits: (field: TypeAttributes) => number | undefined;
}

/** A schema of JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A default that PostgreSQL generates for each record. */
export interface Generated {
  /** Word for it in the schema document. */
  readonly word: string;
  /** SQL expression. It becomes part of statements unchanged, so it is a constant of the code. */
  readonly expression: string;
  /**
   * Whether each record of one statement gets another value: a column that is added with it is then written record by
   * record.
   */
  readonly varies: boolean;
}

export interface FieldType {
  /** Short description that distinguishes the type in the schema of documents, or null if the name suffices. */
  readonly label: string | null;
  /** PostgreSQL type of the column, without constraints. */
  readonly columnType: (field: TypeAttributes) => string;
  /** PostgreSQL type that a bound value is cast to. */
  readonly bindType: string;
  /** JSON type of a value in bodies and responses. */
  readonly json: 'number' | 'string' | 'boolean' | 'any';
  /** JSON Schema of a value that is not null, as in responses. */
  readonly schema: (field: TypeAttributes) => JsonSchema;
  /** Whether bodies may have the digits of the number in a string, too. */
  readonly takesDigits?: true;
  /** A value for the examples of descriptions, as JSON; a field's attributes may refuse it. */
  readonly example: boolean | number | string | Readonly<Record<string, unknown>>;
  /** `plain`: PostgreSQL's text of the column is that of the API. */
  readonly output: 'plain' | 'datetime';
  /** Decodes the value of a JSON body (never null) to text of the PostgreSQL type. */
  readonly decode: (value: unknown, field: TypeAttributes) => Decoded;
  /** Parses the text of a filter or a cursor to text of the PostgreSQL type. */
  readonly parseText: (text: string, field: TypeAttributes) => Decoded;
  /**
   * Parses the text of an imported file (a CSV cell that is not empty, a string of NDJSON) to text of the PostgreSQL
   * type. Takes more forms than parseText, as files have them. `json` and `textual` decide how a cell is written.
   */
  readonly cell: (text: string, field: TypeAttributes) => Decoded;
  /** Checks bounds, lengths and digits of a decoded value that is to be stored. */
  readonly check?: (value: string, field: TypeAttributes) => Decoded;
  /** Returns whether the database considers two decoded values equal. */
  readonly equal: (one: string, right: string) => boolean;
  /** A decoded value for a required column while its values are converted; no request sees it. */
  readonly placeholder: string;
  readonly generated: Generated | null;
  /** Attributes of a schema document that apply to this type. */
  readonly attributes: readonly ('maxLength' | 'precision' | 'scale' | 'min' | 'max' | 'values')[];
  /** Whether "greater" and "between" apply. */
  readonly ordered: boolean;
  readonly textual: boolean;
  /** Whether it can be in a sort, an index, a unique constraint or a row rule. */
  readonly comparable: boolean;
  /**
   * Source of the size limit of a value. `fixed`: its type. `text`: its length, which PostgreSQL knows without reading
   * it. `printed`: only its text.
   */
  readonly size: (field: TypeAttributes) => 'fixed' | 'text' | 'printed';
  /** Summing, for types of numbers. */
  readonly summing?: Summing;
  /** Parts of the calendar by which it can be grouped, or undefined without any. */
  readonly parts?: readonly DatePart[];
  /** Not all versions of PostgreSQL have min() and max() of the type; its texts have the same order byte by byte. */
  readonly extremesByText?: true;
}
