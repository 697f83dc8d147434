// Entities, fields and settings as values: a table of a workspace for the rest of the code. schema/entities.ts builds
// them from a schema document.
import type { FieldTypeName } from './field-types.ts';
import type { Grant, GrantOperation, GrantWhere } from './grant.ts';
import { guessLabel } from './label.ts';
import type { Relation } from './relation.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Purpose of a column: principals write only `data` and `reference` fields. */
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
  /** Whether it has a substring index. */
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
  /** Relations that may be expanded, or null for every one. */
  readonly expandable: readonly string[] | null;
  readonly maxExpandDepth: number | null;
  readonly defaultFields: readonly string[] | null;
  /** Field or template that names a record to people, or null to choose one (findLabel). */
  readonly label: string | null;
  /** Whether changes of its records are kept, and as what; null: off. */
  readonly changes: 'off' | 'feed' | 'history' | null;
  /** Days for which history is kept, or null for the default of the installation. */
  readonly historyDays: number | null;
  /** Whether external users may read the history of records that they can see; null: no. */
  readonly historyForUsers: boolean | null;
  /** Own fields whose values are never stored with changes; null: none. */
  readonly changesOmit: readonly string[] | null;
}

export const NO_SETTINGS: EntitySettings = {
  defaultExpand: null,
  expandable: null,
  maxExpandDepth: null,
  defaultFields: null,
  label: null,
  changes: null,
  historyDays: null,
  historyForUsers: null,
  changesOmit: null,
};

/** Returns whether changes of the entity's records are kept. */
export const keepsChanges = ({ changes }: Pick<EntitySettings, 'changes'>): boolean =>
  changes === 'feed' || changes === 'history';

export const isTextual = (type: FieldTypeName): boolean => type === 'string' || type === 'text';

/** Returns the field or the template that names a record: as configured, else guessed, or null. */
export const findLabel = ({ fields, settings }: Pick<Entity, 'fields' | 'settings'>): string | null =>
  settings.label ?? guessLabel(fields);

/** Every column of a level, in `fields` and `defaultFields`. No field has this name. */
export const EVERY_COLUMN = '*';

/** Default of the spec for the nesting of `expand`. */
export const DEFAULT_MAX_EXPAND_DEPTH = 3;

/**
 * Most relations that one request may follow, in filters, sorts and expansions together; the limit of a default
 * expansion, too.
 */
export const MAX_STEPS = 60;

export interface RowRule {
  readonly column: string;
  readonly claim: string;
  readonly enabled: boolean;
}

/** State of a running migration for requests. */
export interface MigrationGate {
  readonly blocksReads: boolean;
  readonly blocksWrites: boolean;
  readonly retryAfterSeconds: number;
}

/** Texts that a search looks through. */
export interface SearchText {
  /** Fields to join in this order; at least one. */
  readonly fields: readonly Field[];
  /** Name of a configuration of PostgreSQL's text search: which words count as one, and which are ignored. */
  readonly language: string;
}

/** Configuration that keeps words as they are written, and ignores none. */
export const NO_LANGUAGE = 'simple';

/**
 * Entity of the schema document as written, without its settings and row rules. For responses that contain it;
 * everything else uses the members of Entity.
 */
export interface Declared {
  readonly description?: string;
  readonly fields?: Readonly<Record<string, object>>;
  readonly relations?: Readonly<Record<string, object>>;
  readonly indexes?: readonly object[];
  readonly searchLanguage?: string;
  readonly timestamps?: boolean;
}

/** Names of a workspace's stored totals on its node: suffix of tables and functions, and prefix in rows of totals. */
export interface NodeTotal {
  readonly shard: string;
  readonly group: string;
}

/** PostgreSQL schema and table. */
export interface EntityTable {
  readonly schema: string;
  readonly name: string;
  /** Location of its total, on a node of a cluster. */
  readonly total?: NodeTotal;
  /** Node of the table, and a condition, as SQL, that fails the statement unless the table lies there. */
  readonly node?: { readonly key: string; readonly guard: object };
}

export interface Entity {
  readonly name: string;
  readonly declared: Declared;
  readonly description: string | undefined;
  readonly table: EntityTable;
  /** Part of the versions of its records, and of cursors; '' or missing without one. */
  readonly epoch?: string;
  /** Forms of statements for its table on a node (sql/statement-forms.ts); missing for tables in the database. */
  readonly statementForms?: object | undefined;
  /** Number of starts and ends of moves of its workspace: part of versions, and odd during a move (sql/table.ts). */
  readonly moves?: number;
  /** Every column in the order of the document: id first, then fields, references, timestamps. */
  readonly fields: ReadonlyMap<string, Field>;
  readonly relations: ReadonlyMap<string, Relation>;
  /** Searched texts, or null without a search. */
  readonly search: SearchText | null;
  readonly timestamps: boolean;
  readonly settings: EntitySettings;
  readonly rowRules: readonly RowRule[];
  /** Grants of users by role, or null for an entity that is open to every user. */
  readonly grants: readonly Grant[] | null;
  /** Access of the users that the snapshot was made for (granted.ts), or missing without limits by grants. */
  readonly access?: EntityAccess;
  readonly gate: MigrationGate | null;
  /** Whether a write may change records of an entity that keeps changes, so that it names its principal. */
  readonly namesActor: boolean;
}

/** Returns the key of the node on which the entity is read, for keys of caches; '' for the database itself. */
export const nodeKey = ({ table }: Pick<Entity, 'table'>): string => table.node?.key ?? '';

/* ---- access by grants, as model/granted.ts resolves it ---- */

/** Access of users with some roles to an entity with grants. */
export interface EntityAccess {
  /** The entity with all of its fields and relations. */
  readonly base: Entity;
  /** All entities of the workspace, through which the paths of grants lead. */
  readonly entities: ReadonlyMap<string, Entity>;
  /** Grants of the roles, in the order of the document; which of them apply depends on the claims. */
  readonly grants: readonly ResolvedGrant[];
  /** Fields that a body may name, by the roles: those that can be read, and those of `write` and `set`. */
  readonly writable: ReadonlyMap<string, Field>;
}

/** A claim as a value of a column. `isList`: as a list of values. */
export interface ClaimUse {
  readonly claim: string;
  readonly field: Field;
  readonly isList: boolean;
}

/** A value that a create stores: the text form of its column, or a claim. */
export type StampedValue =
  | { readonly kind: 'literal'; readonly text: string | null }
  | ({ readonly kind: 'claim' } & ClaimUse);

export interface ResolvedGrant {
  /** Index in the document. */
  readonly index: number;
  readonly can: ReadonlySet<GrantOperation>;
  /** Claims without which the grant does not apply. */
  readonly claims: readonly ClaimUse[];
  /** Whether the condition could hold although a claim is missing. */
  readonly needsGuard: boolean;
  readonly where: GrantWhere | null;
  readonly fields: ReadonlySet<string>;
  readonly write: ReadonlySet<string>;
  readonly set: ReadonlyMap<string, StampedValue>;
  /** Values that every record of the grant must have, by the field: stored by a create that leaves them out. */
  readonly stamps: ReadonlyMap<string, StampedValue>;
  /** Whether every record of the grant must have a certain id, so that no create can make one. */
  readonly demandsId: boolean;
}
