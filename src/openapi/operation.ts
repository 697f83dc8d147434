// What a document says of an operation outside the data API. Routes describe themselves in this form, beside their
// handlers; admin.ts prints it.

/** The nouns of the document, with what it says of them. */
export const TAGS = {
  session: 'Who asks: the credential of a request, and what it is good for.',
  organizations: 'Who has workspaces. The operator makes, renames and deletes them.',
  workspaces: 'A schema with its records, keys and users.',
  schema: 'The schema document of a workspace: its entities with their fields and relations.',
  migrations: 'Changes of a schema, while they happen and afterwards.',
  settings: 'How an entity is read: what is expanded and which fields are shown.',
  rowRules: 'Which records of an entity the users of an identity provider see and write.',
  apiKeys: 'Credentials of a workspace that are text.',
  oauthClients: 'Programs that exchange an id and a secret for tokens.',
  signingKeys: 'The keys that sign the tokens of OAuth clients.',
  mcp: 'What agents may do that speak the Model Context Protocol.',
  identityProvider: 'Whose tokens are accepted in a workspace beside our own.',
  access: 'What a user with given claims would be answered.',
  console: 'Who is signed in to the console.',
  oauth: 'OAuth 2.0: tokens for clients, and what others need to verify them.',
  activity: 'Who changed what, and when.',
  backups: 'All that a workspace or the instance has, as a file, and back.',
  cluster: 'The nodes of a Citus cluster, where workspaces lie on them, and moves between them.',
  server: 'How the server is, and what it serves.',
} as const;

export type Tag = keyof typeof TAGS;

/** A JSON Schema (draft 2020-12) as a plain value. One with a `title` becomes a component of that name. */
export type Shape = object;

export const TEXT: Shape = { type: 'string' };
export const TEXTS: Shape = { type: 'array', items: TEXT };

/** An object with all of these members; more may come. */
export function objectShape(properties: Readonly<Record<string, Shape>>): Shape {
  return { type: 'object', required: Object.keys(properties), properties };
}

export interface ErrorDescription {
  readonly status: number;
  readonly code: string;
  /** Ends the sentence "refused because ...". */
  readonly when: string;
}

export interface Description {
  /** A tag and a verb, as `apiKeys.create`. Unique: generated clients make names of functions of it. */
  readonly id: `${Tag}.${string}`;
  /** A title in one line, without a full stop. Unique: importers make file names of it. */
  readonly summary: string;
  /** What the summary and the shapes do not say. */
  readonly description: string;
  /** `client`: the id and the secret of an OAuth client, not a credential of this API. */
  readonly credential: 'none' | 'bearer' | 'client';
  /** The parameters of the path. */
  readonly params: Readonly<Record<string, Shape>>;
  /** The query parameters that the operation knows. */
  readonly query: Readonly<Record<string, Shape>>;
  readonly body?: Content | undefined;
  /** What If-Match is compared with, in words; undefined: the header means nothing here. */
  readonly guarded?: string | undefined;
  /** By status; null: the answer has no body. */
  readonly responses: Readonly<Record<number, Content | null>>;
  readonly errors: readonly ErrorDescription[];
  /** Whose words a refusal is in: ours, or those of RFC 6749 section 5.2. */
  readonly errorFormat?: 'api' | 'oauth';
}

export interface Content {
  readonly shape: Shape;
  /** Media type; missing: `application/json`. */
  readonly type?: string;
  readonly example?: unknown;
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With the names of parameters: `/api/admin/v1/organizations/:org`. */
  readonly pattern: string;
  readonly describe: Description;
}
