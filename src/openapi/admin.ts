// Operations outside the data API -> their OpenAPI document (3.1.1). Pure: it prints the descriptions of the routes. Shapes
// with a title become components, named once and referred to everywhere.
import { ERROR_CODES, type ErrorCode } from '../errors.ts';
import { type CodedStatus, ERROR_SCHEMAS, errorResponseRef, errorResponses, type Part } from './error-responses.ts';
import { type Content, type ErrorDescription, type Operation, type Shape, TAGS, type Tag } from './operation.ts';

const CLIENT_AUTHENTICATION = 'oauthClient';
const OAUTH_ERROR = 'OAuthError';

const SECURITY: Readonly<Record<Operation['describe']['credential'], readonly Part[]>> = {
  none: [],
  bearer: [{ bearer: [] }, { oauth: [] }],
  // Without HTTP Basic, the credentials are in the body.
  client: [{ [CLIENT_AUTHENTICATION]: [] }, {}],
};

const RESPONSE_DESCRIPTIONS: Readonly<Record<number, string>> = {
  200: 'It is done, and this is the answer.',
  201: 'It is made.',
  202: 'It has started, and goes on.',
  204: 'It is done; there is nothing to say.',
  304: 'The client has it already: If-None-Match names its tag.',
};

const ETAG = { ETag: { description: 'For If-None-Match and If-Match.', schema: { type: 'string' } } };
const HEADERS: Readonly<Record<number, Part>> = {
  201: { Location: { description: 'Where it is.', schema: { type: 'string' } } },
  202: { Location: { description: 'Where its progress is told.', schema: { type: 'string' } } },
  304: ETAG,
};

/** Builds the document of `operations` at the base URL `publicUrl`. Throws a TypeError for duplicate ids or names. */
export function adminDocument(operations: readonly Operation[], publicUrl: string): Part {
  const { refer, schemas } = makeComponents();
  const paths: Record<string, Record<string, Part>> = {};
  const ids = new Set<string>();
  for (const operation of operations) {
    const { id } = operation.describe;
    if (ids.has(id)) throw new TypeError(`two operations are called ${id}`);
    ids.add(id);
    const path = operation.pattern.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationPart(operation, refer) };
  }
  const tags = new Set(operations.map(getTag));
  const isOAuth = operations.some(({ describe }) => describe.errorFormat === 'oauth');
  return {
    openapi: '3.1.1',
    info: {
      title: 'Workspace Data API: administration',
      version: '1',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl }],
    tags: Object.entries(TAGS)
      .filter(([name]) => tags.has(name as Tag))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: securitySchemes(publicUrl),
      schemas: { ...schemas(), ...ERROR_SCHEMAS, ...(isOAuth ? { [OAUTH_ERROR]: OAUTH_ERROR_SHAPE } : {}) },
      responses: errorResponses(collectErrors(operations)),
    },
  };
}

const INTRODUCTION = [
  'What is served besides the records of workspaces: organizations, workspaces, schemas, credentials, OAuth 2.0 and health.',
  'Records are described by a document of their workspace. GET may be asked as HEAD everywhere.',
].join(' ');

const getTag = ({ describe }: Operation): Tag => describe.id.split('.')[0] as Tag;

/** Returns the API's refusals among those of all operations, each once. */
function collectErrors(operations: readonly Operation[]): readonly CodedStatus[] {
  const statuses = new Map<string, CodedStatus>();
  for (const { code, status } of operations.flatMap(({ describe }) => describe.errors)) {
    if (Object.hasOwn(ERROR_CODES, code)) statuses.set(`${status} ${code}`, { code: code as ErrorCode, status });
  }
  return [...statuses.values()];
}

function operationPart(operation: Operation, refer: Refer): Part {
  const { id, summary, description, credential, params, query, body, guarded, responses, errors, errorFormat } =
    operation.describe;
  const parameters = [
    ...Object.entries(params).map(([name, shape]) => parameter('path', name, shape, refer)),
    ...Object.entries(query).map(([name, shape]) => parameter('query', name, shape, refer)),
    ...(304 in responses ? [IF_NONE_MATCH] : []),
    ...(guarded === undefined ? [] : [ifMatch(guarded)]),
  ];
  return {
    operationId: id,
    tags: [getTag(operation)],
    summary,
    description,
    security: SECURITY[credential],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentPart(body, refer) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, content]) => [
          status,
          responsePart(Number(status), content, 304 in responses, refer),
        ]),
      ),
      ...buildErrorParts(errors, errorFormat),
    },
  };
}

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description: 'A tag of an answer before: 304 when nothing has changed.',
  schema: { type: 'string' },
} as const;

const ifMatch = (what: string): Part => ({
  name: 'If-Match',
  in: 'header',
  description: `The tag of the ${what} that was read: 412 when it is another one by now.`,
  schema: { type: 'string' },
});

/** The description of a shape becomes that of the parameter. */
function parameter(location: 'path' | 'query', name: string, shape: Shape, refer: Refer): Part {
  const { description, examples, ...schema } = shape as { description?: string; examples?: readonly unknown[] };
  return {
    name,
    in: location,
    ...(location === 'path' ? { required: true } : {}),
    ...(description === undefined ? {} : { description }),
    schema: refer(schema),
    ...(examples === undefined ? {} : { example: examples[0] }),
  };
}

function contentPart({ shape, type = 'application/json', example }: Content, refer: Refer): Part {
  return { [type]: { schema: refer(shape), ...(example === undefined ? {} : { example }) } };
}

function responsePart(status: number, content: Content | null, isTagged: boolean, refer: Refer): Part {
  const headers = isTagged ? ETAG : HEADERS[status];
  return {
    description: RESPONSE_DESCRIPTIONS[status],
    ...(headers === undefined ? {} : { headers }),
    ...(content === null ? {} : { content: contentPart(content, refer) }),
  };
}

/** Builds one response for each status, with the conditions of each of its codes. */
function buildErrorParts(
  errors: readonly ErrorDescription[],
  errorFormat: 'api' | 'oauth' = 'api',
): Readonly<Record<string, Part>> {
  const descriptions = new Map<number, string[]>();
  for (const { status, code, when } of errors) {
    descriptions.set(status, [...(descriptions.get(status) ?? []), `\`${code}\`: ${when}.`]);
  }
  return Object.fromEntries(
    [...descriptions].map(([status, sentences]) => {
      const description = sentences.join(' ');
      return [
        status,
        errorFormat === 'api' ? { ...errorResponseRef(status), description } : oauthErrorResponse(description),
      ];
    }),
  );
}

function oauthErrorResponse(description: string): Part {
  return {
    description,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${OAUTH_ERROR}` } } },
  };
}

const OAUTH_ERROR_SHAPE = {
  type: 'object',
  description: 'A refusal in the form of RFC 6749 section 5.2.',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
};

function securitySchemes(publicUrl: string): Readonly<Record<string, Part>> {
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'The key of the operator, an API key with OWNER permissions, or a token of such a client.',
    },
    oauth: {
      type: 'oauth2',
      description: 'A client of a workspace with OWNER permissions.',
      flows: { clientCredentials: { tokenUrl: `${publicUrl}/oauth/token`, scopes: {} } },
    },
    [CLIENT_AUTHENTICATION]: {
      type: 'http',
      scheme: 'basic',
      description: 'The id and the secret of an OAuth client.',
    },
  };
}

/** Returns the schema for the document: a reference when it has a title. */
type Refer = (shape: Shape) => Part;

interface Components {
  readonly refer: Refer;
  /** Returns all shapes that have been referred to, by name. */
  readonly schemas: () => Readonly<Record<string, Part>>;
}

/** Keywords whose values contain schemas; values of all others are copied. */
const SCHEMA_KEYWORDS: Readonly<Record<string, 'schema' | 'list' | 'members'>> = {
  items: 'schema',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  anyOf: 'list',
  oneOf: 'list',
  properties: 'members',
};

/** Throws a TypeError when two different shapes have the same title. */
function makeComponents(): Components {
  const schemas = new Map<string, Part>();

  const refer: Refer = (shape) => {
    const { title, ...rest } = shape as { readonly title?: unknown };
    const schema = renderShape(rest);
    if (typeof title !== 'string') return schema;
    const existing = schemas.get(title);
    if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(schema)) {
      throw new TypeError(`two shapes are called ${title}`);
    }
    schemas.set(title, schema);
    return { $ref: `#/components/schemas/${title}` };
  };

  const renderShape = (shape: object): Part =>
    Object.fromEntries(Object.entries(shape).map(([keyword, value]) => [keyword, renderValue(keyword, value)]));

  function renderValue(keyword: string, value: unknown): unknown {
    // `additionalProperties` may be true or false.
    if (typeof value !== 'object' || value === null) return value;
    const kind = SCHEMA_KEYWORDS[keyword];
    switch (kind) {
      case 'schema':
        return refer(value);
      case 'list':
        return (value as readonly Shape[]).map(refer);
      case 'members':
        return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, refer(member)]));
      case undefined:
        return value;
      default:
        return kind satisfies never;
    }
  }

  return {
    refer,
    schemas: () => Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}
