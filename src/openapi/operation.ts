// Descriptions of operations outside the data API. Routes have them next to their handlers, each with its own errors; those
// that follow from its requirements are added. admin.ts prints them.
import { ERROR_CODES, type ErrorCode } from '../errors.ts';

/** Nouns of the document, with their descriptions. */
export const TAGS = {
  session: 'The credential of the request: whose it is, and what it may do.',
  organizations: 'Owners of workspaces. The operator creates, renames and deletes them.',
  workspaces: 'A schema with its records, keys and users.',
  schema: 'The schema document of a workspace: its entities with their fields and relations.',
  sharedSchemas: 'Schemas that many workspaces of an organization follow, in versions.',
  rollouts: 'Versions of shared schemas on their way to the workspaces that follow them.',
  migrations: 'Changes of a schema, while they happen and afterwards.',
  settings: 'How an entity is read: what is expanded and which fields are shown.',
  rowRules: 'Which records of an entity the users of an identity provider see and write.',
  grants: 'Which roles of users may read and write which records and fields of an entity.',
  apiKeys: 'Credentials of a workspace that are sent as they are.',
  oauthClients: 'Programs that exchange an id and a secret for tokens.',
  signingKeys: 'The keys that sign the tokens of OAuth clients.',
  changes: 'Changes of records that a workspace keeps.',
  webhooks: 'Changes of records as messages to a URL, signed and sent again until they arrive.',
  views: 'What people have saved of how they look at the records of an entity.',
  mcp: 'What agents may do, by the Model Context Protocol.',
  identityProvider: 'The identity provider whose tokens a workspace accepts, besides those of the server.',
  access: 'What a user with given claims would be answered.',
  members: 'People who may use the console, of an organization or of a workspace.',
  console: 'Who is signed in to the console.',
  oauth: 'OAuth 2.0: tokens for clients, and what others need to verify them.',
  activity: 'Who changed what, and when.',
  backups: 'Backups of a workspace or of the instance as a file, and their restore.',
  cluster: 'The nodes of a Citus cluster, where workspaces lie on them, and moves between them.',
  server: 'State of the server, and what it serves.',
} as const;

export type Tag = keyof typeof TAGS;

/** A JSON Schema (draft 2020-12) as a plain value. One with a `title` becomes a component of that name. */
export type Shape = object;

export const TEXT: Shape = { type: 'string' };
export const TEXTS: Shape = { type: 'array', items: TEXT };

/** Returns the schema of an object with all of these members; it may have more. */
export function objectShape(properties: Readonly<Record<string, Shape>>): Shape {
  return { type: 'object', required: Object.keys(properties), properties };
}

export interface ErrorDescription {
  readonly status: number;
  readonly code: string;
  /** End of the sentence "refused because ...". */
  readonly when: string;
}

export interface Description {
  /** A tag and a verb, as `apiKeys.create`. Unique: generated clients make names of functions of it. */
  readonly id: `${Tag}.${string}`;
  /** A title in one line, without a full stop. Unique: importers make file names of it. */
  readonly summary: string;
  /** Details beyond the summary and the shapes. */
  readonly description: string;
  /** `client`: the id and the secret of an OAuth client, not a credential of this API. */
  readonly credential: 'none' | 'bearer' | 'client';
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, Shape>>;
  /** Query parameters of the operation. */
  readonly query: Readonly<Record<string, Shape>>;
  readonly body?: Content | undefined;
  /** Description of the value that If-Match is compared with, or undefined if the header has no effect here. */
  readonly guarded?: string | undefined;
  /** Contents by status, or null for a response without a body. */
  readonly responses: Readonly<Record<number, Content | null>>;
  readonly errors: readonly ErrorDescription[];
  /** Format of refusals: ours, or that of RFC 6749 section 5.2. */
  readonly errorFormat?: 'api' | 'oauth';
}

export interface Content {
  readonly shape: Shape;
  /** Media type; `application/json` by default. */
  readonly type?: string;
  readonly example?: unknown;
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path with the names of parameters: `/api/admin/v1/organizations/:org`. */
  readonly pattern: string;
  readonly describe: Description;
}

/** Conditions by code, as the end of the sentence "refused because ..."; with the status if it is another one. */
export type ErrorConditions = {
  readonly [Code in ErrorCode]?: string | { readonly status: number; readonly when: string };
};

export function toErrorResponses(conditions: ErrorConditions): ErrorDescription[] {
  return Object.entries(conditions).map(([code, condition]) =>
    typeof condition === 'string'
      ? { status: ERROR_CODES[code as ErrorCode], code, when: condition }
      : { ...condition, code },
  );
}

/** Refusals of every operation. */
export const QUERY_ERRORS: ErrorConditions = { BAD_REQUEST: 'a part of the path or of the query is not as described' };

/** Refusals of operations that need a ready server. */
export const UNREADY_ERRORS: ErrorConditions = {
  SERVICE_UNAVAILABLE: 'the server or its database cannot answer at the moment',
};
