// /access/test: the responses that a user with the given claims would get. For administrators, who may see every record
// anyway; the requests run through the pipeline of the data API as an external user, by the row rules and grants in force
// or by others that are tried. Writes are rolled back.

import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Static, TSchema } from 'typebox';
import {
  BETWEEN_REQUESTS,
  type InternalRequest,
  makeRequest,
  type RequestSource,
} from '../data-api/internal-request.ts';
import type { DataApi } from '../data-api/router.ts';
import { ApiError, type Detail, notFound, responseTooLarge, shorten, validationFailed } from '../errors.ts';
import { findRoles } from '../model/claim.ts';
import type { External } from '../model/principal.ts';
import { getUnrestricted } from '../model/restricted.ts';
import { type AccessTrial, describeDeclarations, type EntityTrial, tryAccess } from '../model/trial.ts';
import type { Workspace } from '../model/workspace.ts';
import { PREFIX } from '../request/record-path.ts';
import { errorReply } from '../response/error-body.ts';
import { JSON_TYPE, type Reply, readBodyText } from '../response/reply.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import { getRowRules } from '../schema/entities.ts';
import { DocumentShape, GrantsShape, MAX_ENTITIES, RowRulesShape, type SchemaDocument } from '../schema/format.ts';
import { buildGrants } from '../schema/grants.ts';
import { member } from '../schema/renames.ts';
import { makeReport } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import type { Databases } from '../store/databases.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import { findIdentityProvider } from '../store/identity-provider.ts';
import { makeWorkspace } from '../store/load-workspace.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import { exactBody } from './body.ts';
import { anyShape, arrayShape, data, enumShape, objectShape, respondText } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';
import { notAnEntity } from './scopes.ts';

export interface AccessTestServices extends AdminServices {
  /** Runs a request of the data API as a principal. */
  readonly executeAs: DataApi['executeAs'];
  /** Size limit of all responses of one call together. */
  readonly maxResponseBytes: number;
}

// Limits one call to a few connections for a few seconds; clients send a longer list in parts.
const MAX_REQUESTS = 100;

/** Returns the shape of a part of entities, by entity, in a body. */
const byEntityShape = <S extends TSchema>(shape: S, description: string) =>
  Type.Unsafe<Readonly<Record<string, Static<S>>>>({
    type: 'object',
    additionalProperties: shape,
    maxProperties: MAX_ENTITIES,
    description,
  });

const TRIAL_MEMBERS = {
  rules: Type.Optional(
    byEntityShape(
      { ...RowRulesShape, description: 'In the form of the row rules of an entity; []: none.' },
      'Row rules by entity, to be tried in place of those in force.',
    ),
  ),
  grants: Type.Optional(
    byEntityShape(GrantsShape, 'Grants by entity, to be tried in place of those in force; null: none.'),
  ),
  roles: Type.Optional(
    Type.Unsafe<readonly string[]>({
      ...DocumentShape.properties.roles,
      description: 'Roles that the grants may name, in place of those in force.',
    }),
  ),
};
const Trial = objectShape(TRIAL_MEMBERS);

const AccessTest = objectShape(
  {
    claims: Type.Unsafe<External['claims']>({ type: 'object', description: 'Claims of the token of the user.' }),
    requests: Type.Array(
      objectShape({
        path: Type.String({
          minLength: 1,
          maxLength: 16_384,
          description: 'Below the workspace in the data API, with its query.',
        }),
        method: Type.Optional(enumShape('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
        body: Type.Optional(anyShape('With a body and without a method the request is a POST, as `_query` needs it.')),
      }),
      { maxItems: MAX_REQUESTS },
    ),
    ...TRIAL_MEMBERS,
  },
  { title: 'AccessTest' },
);

const AccessTestResponse = objectShape(
  {
    path: Type.String(),
    status: Type.Integer(),
    body: anyShape('As the data API answers; an export as a text, null when there is none.'),
  },
  { title: 'AccessTested' },
);

export function accessTestRoutes(services: AccessTestServices): AdminRoute[] {
  const route = routeMaker(services);
  return [
    route({
      id: 'access.test',
      method: 'POST',
      path: `${WORKSPACE}/access/test`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'none',
      summary: 'What a user with these claims would be answered',
      description:
        'The requests run as of a user of the identity provider, with the roles of its role claim. A request with a `method` may write, by the permission of the provider (`READ_WRITE` without one), and is rolled back; one without may only read. With `rules` and `grants` they run as if these were in force: those of entities that are not named stay. Nothing is changed.',
      errors: {
        SCHEMA_MIGRATION_IN_PROGRESS: 'an entity is closed by a migration',
        CONFLICT: 'the schema has changed while rules or grants were tried',
      },
      body: exactBody(AccessTest),
      example: {
        claims: { customer_id: 1 },
        requests: [{ path: 'orders?expand=customer' }],
        rules: { orders: [{ column: 'customerId', claim: 'customer_id' }] },
      },
      responses: { 200: data(arrayShape(AccessTestResponse)) },
      async handle({ workspace: { id, organization, slug }, body: { claims, requests, ...parts } }) {
        const trial = Object.keys(parts).length === 0 ? undefined : await parseTrial(services.databases, id, parts);
        const provider = await findIdentityProvider(services.databases.directory, id);
        const user: External = {
          kind: 'external',
          permissions: 'READ_ONLY',
          workspaceId: id,
          scope: null,
          credentialId: 'access-test',
          claims,
          roles: findRoles(claims, provider?.roleClaim ?? null),
          onlyGrants: false,
        };
        const writer: External = { ...user, permissions: provider?.defaultPermissions ?? 'READ_WRITE' };
        const selectPart = trial === undefined ? undefined : makeSelectPart(trial, user);
        let remainingBytes = services.maxResponseBytes;
        const responses: string[] = [];
        for (const { path, method, body } of requests) {
          const url = `${PREFIX}${organization}/${slug}/${path}`;
          const request = makeRequest(parseRequest(url, method, body), makeSource());
          const principal = method === undefined ? user : writer;
          const reply = path.startsWith('/')
            ? errorReply(leadingSlash(path))
            : await services.executeAs(principal, request, selectPart).catch(toErrorReply);
          const text = await bodyText(reply, remainingBytes);
          remainingBytes -= text.length;
          if (remainingBytes < 0) throw responseTooLarge(services.maxResponseBytes);
          const parts = [`"path":${JSON.stringify(path)}`, `"status":${reply.status}`, `"body":${text}`];
          responses.push(`{${parts.join()}}`);
        }
        return respondText(`{"data":[${responses.join()}]}`);
      },
    }),
  ];
}

/** Returns tryAccess() for a user, which is computed once for each snapshot. */
function makeSelectPart(trial: AccessTrial, user: External): (workspace: Workspace) => Workspace {
  const parts = new WeakMap<Workspace, Workspace>();
  return (workspace) => {
    const whole = getUnrestricted(workspace);
    const part = parts.get(whole) ?? tryAccess(whole, trial, user);
    parts.set(whole, part);
    return part;
  };
}

/** Error of a path whose entity would have an empty name. */
const leadingSlash = (path: string): ApiError =>
  notFound('UNKNOWN_ENTITY', `Paths have no leading slash: ${shorten(path.replace(/^\/+/, ''))}, not ${shorten(path)}`);

/** Request source of all requests of a test: the sender of the test. */
function makeSource(): RequestSource {
  return {
    id: 'access-test',
    arrivedAt: performance.now(),
    signal: { isAborted: () => false, onAbort: () => () => undefined },
    slices: BETWEEN_REQUESTS,
  };
}

function parseRequest(url: string, method: string | undefined, body: unknown): InternalRequest {
  const queryStart = url.indexOf('?');
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    path: queryStart < 0 ? url : url.slice(0, queryStart),
    query: queryStart < 0 ? '' : url.slice(queryStart + 1),
    body,
  };
}

/** Returns the reply to an error of the client. Temporary errors (5xx), and a change of the schema, end the whole test. */
function toErrorReply(error: unknown): Reply {
  if (error instanceof ApiError && error.status < 500 && error.reason !== 'RULES_CHANGED') return errorReply(error);
  throw error;
}

/** Returns the body as JSON text: JSON and the schema unchanged, an export as a string, null without a body. */
async function bodyText({ body }: Reply, maxBytes: number): Promise<string> {
  switch (body.kind) {
    case 'empty':
      return 'null';
    case 'text':
      return body.contentType === JSON_TYPE ? body.text : JSON.stringify(body.text);
    case 'long':
      return readBodyText(body);
    case 'bytes':
      return Buffer.from(body.bytes).toString();
    case 'stream':
      return JSON.stringify(await readText(body.stream, maxBytes));
    case 'messages':
      body.cancel();
      throw new TypeError('a request without an Accept header is not answered by an event stream');
    default:
      return body satisfies never;
  }
}

async function readText(stream: Readable, maxBytes: number): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    // Throwing out of the loop destroys the stream.
    if (text.length > maxBytes) throw responseTooLarge(maxBytes);
  }
  return text;
}

/** Parses row rules and grants of a body like those of a schema document; 400 with every mistake in them. */
async function parseTrial(
  databases: Databases,
  workspaceId: string,
  { rules = {}, grants = {}, roles }: Static<typeof Trial>,
): Promise<AccessTrial> {
  const row = await requireValue(
    loadWorkspaceRow(databases.forWorkspace({ id: workspaceId }), workspaceId),
    workspaceDeleted,
  );
  const { document } = row;
  const mistakes = findUnknownEntities({ rules, grants }, document);
  if (mistakes.length > 0) throw validationFailed(mistakes);
  const names = new Set([...Object.keys(rules), ...Object.keys(grants)]);
  const changedEntities = [...names].map((name) => [
    name,
    {
      ...member(document.entities, name),
      ...(Object.hasOwn(rules, name) ? { rowRules: rules[name] } : {}),
      ...(Object.hasOwn(grants, name) ? { grants: grants[name] } : {}),
    },
  ]);
  const entities = { ...document.entities, ...Object.fromEntries(changedEntities) };
  const tried = { ...document, ...(roles === undefined ? {} : { roles }), entities };
  const parsed = parseSchemaDocument(tried, document);
  if (!parsed.ok) throw validationFailed(parsed.details.map(inBody));
  const byEntity = new Map(
    Object.entries(parsed.document.entities).flatMap(([name, entity]): [string, EntityTrial][] => {
      if (!names.has(name)) return [];
      const rowRules = Object.hasOwn(rules, name) ? { rowRules: getRowRules(entity) } : {};
      return [[name, { ...rowRules, ...(Object.hasOwn(grants, name) ? { grants: buildGrants(entity) } : {}) }]];
    }),
  );
  // Grants as they are built have sets and maps, which are no JSON.
  const parts = [...names].map((name) => [name, member(parsed.document.entities, name)]);
  return {
    byEntity,
    key: hash('sha256', JSON.stringify([parts, Object.keys(rules), Object.keys(grants)]), 'base64url'),
    declarations: describeDeclarations(makeWorkspace(row)),
  };
}

/** Returns a mistake for each name that no entity has. */
function findUnknownEntities(parts: Readonly<Record<string, object>>, { entities }: SchemaDocument): readonly Detail[] {
  const report = makeReport(parts);
  for (const [part, byEntity] of Object.entries(parts)) {
    for (const name of Object.keys(byEntity)) {
      if (member(entities, name) === undefined)
        report([part, name], 'REFERENCE_NOT_FOUND', notAnEntity(name, Object.keys(entities), report));
    }
  }
  return report.details();
}

const BODY_PARTS: Readonly<Record<string, string>> = { rowRules: 'rules', grants: 'grants' };

/** Maps a path of the document (`entities.orders.rowRules.0.column`) to one of the body (`rules.orders.0.column`). */
function inBody(detail: Detail): Detail {
  const [, name, part = '', rest = ''] = /^entities\.([^.]+)\.(rowRules|grants)(.*)$/.exec(detail.field ?? '') ?? [];
  return name === undefined ? detail : { ...detail, field: `${BODY_PARTS[part]}.${name}${rest}` };
}
