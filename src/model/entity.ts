// Entities, fields and settings as values: what one table of a workspace is to the rest of the code.
// document/entities.ts makes them from a schema document.
import type { FieldTypeName } from './field-types.ts';
import type { Relation } from './relation.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** What a column is for: principals write only `data` and `reference` fields. */
export type FieldRole = 'id' | 'data' | 'reference' | 'createdAt' | 'updatedAt';

export interface Field {
  /** Name in the schema, in JSON and in URLs. */
  readonly name: string;
  /** Name of the column in PostgreSQL: that of the field unless it was renamed or changed its type since. */
  readonly column: string;
  readonly type: FieldTypeName;
  readonly role: FieldRole;
  readonly required: boolean;
  readonly unique: boolean;
  readonly indexed: boolean;
  /** True when it has an index that finds parts of its texts. */
  readonly hasPartsIndex: boolean;
  /** Literal, `"now"`, `"uuid"`, or undefined for no default. */
  readonly default: JsonValue | undefined;
  readonly maxLength: number | undefined;
  readonly precision: number | undefined;
  readonly scale: number | undefined;
  /** Bounds as the text of the field's type (digits, ISO dates). */
  readonly min: string | undefined;
  readonly max: string | undefined;
  readonly values: readonly string[] | undefined;
  readonly description: string | undefined;
  /** For a reference: the belongsTo relation whose key this column holds. */
  readonly relation: string | undefined;
}

export interface EntitySettings {
  readonly defaultExpand: readonly string[] | null;
  /** Whitelist; null means that every relation may be expanded. */
  readonly expandable: readonly string[] | null;
  readonly maxExpandDepth: number | null;
  readonly defaultFields: readonly string[] | null;
  /** The field that names a record to people; null: guessed (labelOf). */
  readonly label: string | null;
}

export const NO_SETTINGS: EntitySettings = {
  defaultExpand: null,
  expandable: null,
  maxExpandDepth: null,
  defaultFields: null,
  label: null,
};

export const isTextual = (type: FieldTypeName): boolean => type === 'string' || type === 'text';

const LABELS = ['name', 'title', 'label', 'email'];

/** The field that names a record to people: as configured, else by its name, else the first string field; null for none. */
export function findLabel({ fields, settings }: Pick<Entity, 'fields' | 'settings'>): string | null {
  if (settings.label !== null) return settings.label;
  const candidate = LABELS.find((name) => isTextual(fields.get(name)?.type ?? 'json'));
  return candidate ?? [...fields.values()].find(({ type }) => type === 'string')?.name ?? null;
}

/** In `fields` and `defaultFields`: every column of its level. No field has this name. */
export const EVERY_COLUMN = '*';

/** The spec's default for the nesting of `expand`. */
export const DEFAULT_MAX_EXPAND_DEPTH = 3;

/**
 * Relations that one request may follow, in filters, sorts and expansions together; the limit of a default expansion,
 * too.
 */
export const MAX_STEPS = 60;

export interface RowRule {
  readonly column: string;
  readonly claim: string;
  readonly enabled: boolean;
}

/** What requests see of a running migration. */
export interface MigrationGate {
  readonly blocksReads: boolean;
  readonly blocksWrites: boolean;
  readonly retryAfterSeconds: number;
}

/** The texts that a search looks through. */
export interface SearchText {
  /** Joined in this order; at least one. */
  readonly fields: readonly Field[];
  /** Name of a configuration of PostgreSQL's text search: which words count as one, and which are ignored. */
  readonly language: string;
}

/** Words as they are written, none ignored. */
export const NO_LANGUAGE = 'simple';

/**
 * What the schema document says of an entity, as it was written, but for its settings and row rules. For answers that show
 * it; everything else goes by the members of Entity.
 */
export interface Declared {
  readonly description?: string;
  readonly fields?: Readonly<Record<string, object>>;
  readonly relations?: Readonly<Record<string, object>>;
  readonly indexes?: readonly object[];
  readonly searchLanguage?: string;
  readonly timestamps?: boolean;
}

/** What names of a workspace's kept totals have on its node: behind those of tables and functions, and in rows of totals. */
export interface NodeTotal {
  readonly shard: string;
  readonly group: string;
}

/** PostgreSQL schema and table. */
export interface EntityTable {
  readonly schema: string;
  readonly name: string;
  /** On a node of a cluster: where its total is kept. */
  readonly total?: NodeTotal;
  /** On a node: which it is, and a condition, as SQL, that fails the statement unless the table lies there. */
  readonly node?: { readonly key: string; readonly guard: object };
}

export interface Entity {
  readonly name: string;
  readonly declared: Declared;
  readonly description: string | undefined;
  readonly table: EntityTable;
  /** Part of the versions of its records, and of cursors; '' or missing: none. */
  readonly epoch?: string;
  /** How statements are written for its table where that lies on a node, for sql/statement-forms.ts; missing: as anywhere. */
  readonly statementForms?: object | undefined;
  /** How often a move of its workspace has begun or ended: part of versions, and odd while it moves (sql/table.ts). */
  readonly moves?: number;
  /** Every column in the order of the document: id first, then fields, references, timestamps. */
  readonly fields: ReadonlyMap<string, Field>;
  readonly relations: ReadonlyMap<string, Relation>;
  /** null: it has no search. */
  readonly search: SearchText | null;
  readonly timestamps: boolean;
  readonly settings: EntitySettings;
  readonly rowRules: readonly RowRule[];
  readonly gate: MigrationGate | null;
}

/** Which node the entity is read on, for keys of caches; '' for the database itself. */
export const nodeKey = ({ table }: Pick<Entity, 'table'>): string => table.node?.key ?? '';
