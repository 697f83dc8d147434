// Describes admin routes for the OpenAPI document: the texts of their authors, and errors that follow from access level,
// path and body.
import type { TSchema } from 'typebox';
import {
  type Content,
  type Description,
  type ErrorConditions,
  QUERY_ERRORS,
  type Shape,
  type Tag,
  toErrorResponses,
  UNREADY_ERRORS,
} from '../openapi/operation.ts';
import { Type } from '../schema/type.ts';
import type { AccessLevel } from './access.ts';
import { Slug } from './names.ts';
import type { Query } from './query.ts';
import { BINARY_TYPE, BYTES, NOTHING, type Responses } from './response.ts';

/** Texts of a route by its author. */
export interface RouteTexts {
  /** Tag and verb, such as `apiKeys.create`; unique. */
  readonly id: `${Tag}.${string}`;
  /** One line without a full stop; unique. */
  readonly summary: string;
  /** Details beyond summary and shapes. */
  readonly description: string;
  /** Errors of the handler; those of credential, path, query and body are added. */
  readonly errors: ErrorConditions;
  /** Noun of the value that If-Match is compared with, such as `schema document`. Without it the header is ignored. */
  readonly guarded?: string;
  /** Example of a body; the reference page has the same. */
  readonly example?: unknown;
}

export const ACCESS_LABELS: Readonly<Record<AccessLevel, string>> = {
  anyone: 'Anyone',
  credential: 'Any key, and tokens of OAuth clients',
  operator: 'The operator',
  administrator: 'The operator, and owners for their own',
  organization: 'The operator, and people who own the organization',
  workspace: 'The operator and owners',
  reader: 'The operator and any key of the workspace',
  writer: 'The operator, and keys of the workspace that may write',
};

const PATH_PARAMETERS: Readonly<Record<string, TSchema>> = {
  org: { ...Slug, description: 'Slug of the organization.', examples: ['acme'] },
  ws: { ...Slug, description: 'Slug of the workspace.', examples: ['shop'] },
};

/** Condition of a 409 to schema changes; in the data API the code has status 503. */
export const MIGRATION_RUNS = { status: 409, when: 'a migration of the workspace is running' } as const;

/** Condition of a 409 to changes of the schema of a workspace that follows a shared one. */
export const FOLLOWS = 'the workspace follows a shared schema';

/** Returns the shape of an id in a path. */
export const idParam = (what: string): TSchema =>
  Type.Integer({ minimum: 1, format: 'int64', description: `Id of the ${what}.`, examples: [1] });

interface DescribedRoute extends RouteTexts {
  readonly path: string;
  readonly access: AccessLevel;
  readonly params: Readonly<Record<string, TSchema>>;
  readonly query: Query;
  readonly body: { readonly shape: TSchema } | undefined;
  /** Whether the request body is bytes. */
  readonly uploads?: boolean | undefined;
  readonly responses: Responses;
}

export function describe(route: DescribedRoute): Description {
  const { id, summary, description, path, access, params, query, responses, guarded } = route;
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  return {
    id,
    summary,
    description: `${description} May be used by: ${ACCESS_LABELS[access].toLowerCase()}.`,
    credential: access === 'anyone' ? 'none' : 'bearer',
    params: Object.fromEntries(names.map((name) => [name, { ...PATH_PARAMETERS, ...params }[name] as Shape])),
    query: Object.fromEntries(Object.entries(query).map(([name, { shape }]) => [name, shape])),
    body: describeBody(route),
    guarded,
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, shape]) => [status, shape === NOTHING ? null : describeContent(shape)]),
    ),
    errors: toErrorResponses(collectErrors(route)),
  };
}

const describeContent = (shape: TSchema): Content => (shape === BYTES ? { shape, type: BINARY_TYPE } : { shape });

function describeBody({ body, uploads, example }: DescribedRoute): Content | undefined {
  if (uploads === true) return describeContent(BYTES);
  return body && { shape: body.shape, ...(example === undefined ? {} : { example }) };
}

function collectErrors({ access, path, body, uploads, guarded, errors }: DescribedRoute): ErrorConditions {
  return {
    ...QUERY_ERRORS,
    ...(access === 'anyone' ? {} : CREDENTIAL_ERRORS),
    ...(path.includes(':') ? PATH_ERRORS : {}),
    ...(body === undefined ? {} : BODY_ERRORS),
    ...(uploads === true ? UPLOAD_ERRORS : {}),
    ...(guarded === undefined ? {} : { PRECONDITION_FAILED: `the ${guarded} is not that of If-Match any more` }),
    ...UNREADY_ERRORS,
    ...errors,
  };
}

const CREDENTIAL_ERRORS: ErrorConditions = {
  UNAUTHORIZED: 'the credential is missing or not valid',
  FORBIDDEN: 'the credential may not do this, or not here',
  RATE_LIMITED: 'this credential has sent too many requests',
  QUERY_TIMEOUT: 'a statement took too long and was stopped',
};

const PATH_ERRORS: ErrorConditions = { NOT_FOUND: 'what the path names does not exist' };

const BODY_ERRORS: ErrorConditions = {
  VALIDATION_FAILED: 'the body is not as described; `details` has every mistake',
  PAYLOAD_TOO_LARGE: 'the body has more bytes than a body may have',
  UNSUPPORTED_MEDIA_TYPE: 'the body is not application/json',
};

const UPLOAD_ERRORS: ErrorConditions = {
  PAYLOAD_TOO_LARGE: 'the file has more bytes than an import may have',
  UNSUPPORTED_MEDIA_TYPE: `the body is not ${BINARY_TYPE}`,
};
