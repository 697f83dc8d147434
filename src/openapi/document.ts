// The OpenAPI document of a workspace (OpenAPI Specification 3.1.1): requests that a class of principals may send, and
// the responses. Written as text in pieces, as that of a large workspace takes long.
import { ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { IdentityProvider, Workspace } from '../model/workspace.ts';
import type { DocumentRequest } from '../request/document-request.ts';
import type { OperationName } from '../request/operations.ts';
import { PREFIX } from '../request/record-path.ts';
import { type Components, entityComponents, sharedComponents } from './components.ts';
import { type EnvelopeLimits, envelopes } from './envelopes.ts';
import {
  buildErrorRefs,
  ERROR_SCHEMAS,
  errorResponses,
  otherResponse,
  type Part,
  withStatuses,
} from './error-responses.ts';
import { entityWebhooks, MESSAGE_HEADERS, workspaceWebhooks } from './events.ts';
import { entityPaths, type OperationContext } from './operations.ts';
import { entityParameters, type SharedParameter, sharedName, sharedParameter } from './parameters.ts';
import { certainColumns, listOperatorSchemas, recordSchemas } from './schema.ts';
import { buildViews, type EntityView, type PrincipalClass } from './view.ts';
import { WORKSPACE_TAG, workspacePaths } from './workspace-paths.ts';

/** Facts about the server in a document. */
export interface DocumentFacts extends EnvelopeLimits {
  readonly publicUrl: string;
  readonly tokenUrl: string;
}

/** Returns the base URL of the data API of the workspace. */
export const workspaceUrl = (publicUrl: string, { organization, slug }: Workspace): string =>
  `${publicUrl}${PREFIX}${organization}/${slug}`;

/**
 * Generates the text of the document in small pieces, each in 2 ms or less. The same snapshot, class and request produce
 * the same text to the byte. `request.entities` are names of the snapshot.
 */
export function* generateDocument(
  workspace: Workspace,
  principal: PrincipalClass,
  request: Pick<DocumentRequest, 'selection' | 'entities'>,
  facts: DocumentFacts,
): Generator<string, void> {
  const views = selectViews(workspace, principal, request.entities);
  const certain = request.selection === 'fixed' ? certainColumns(workspace.entities) : new Map<string, Set<string>>();
  const hasFields = request.selection === 'free';
  const shared = new Set<SharedParameter>();
  const codes = new Set<ErrorCode>();
  const context: OperationContext = {
    selection: request.selection,
    maxBulk: facts.maxBulk,
    shared: (...names) =>
      names.map((name) => {
        shared.add(name);
        return { $ref: `#/components/parameters/${sharedName(name)}` };
      }),
    errorResponses(added) {
      for (const code of added) codes.add(code);
      return {
        ...buildErrorRefs(added.filter(hasOwnResponse)),
        default: { $ref: `#/components/responses/${OTHER_ERRORS}` },
      };
    },
  };
  const followed = views.filter(({ operations }) => operations.includes('changes')).map(({ entity }) => entity.name);
  const schemas = new Map<string, string[]>();
  const parameters = new Map<string, string[]>();
  const responses: string[] = [];
  const bodies: string[] = [];
  const addComponents = (components: Components): void => {
    responses.push(toMembers(components.responses));
    bodies.push(toMembers(components.requestBodies));
  };
  const schemes = securitySchemes(principal, workspace.identityProvider, facts.tokenUrl);
  const head = toMembers({
    openapi: '3.1.1',
    info: {
      title: `${workspace.organization}/${workspace.slug}`,
      version: '1',
      description: INTRODUCTION,
    },
    servers: [{ url: workspaceUrl(facts.publicUrl, workspace) }],
    security: Object.keys(schemes).map((name) => ({ [name]: [] })),
    tags: [WORKSPACE_TAG, ...views.map(makeTag)],
    'x-wda': {
      organization: workspace.organization,
      workspace: workspace.slug,
      selection: request.selection,
      principal: principal.kind,
      mayWrite: principal.mayWrite,
    },
  });
  yield `{${head},"paths":{${toMembers(workspacePaths(context, principal, followed))}`;
  for (const view of views) {
    const own = entityParameters(view, facts.maxPageSize, hasFields);
    addByKind(schemas, view, recordSchemas(view, certain.get(view.entity.name) ?? NONE));
    addByKind(parameters, view, own.parts);
    addComponents(entityComponents(view, context));
    yield `,${toMembers(entityPaths(view, own, context))}`;
  }
  yield '}';
  // Webhooks have what owners see.
  if (principal.kind === 'owner' && followed.length > 0) {
    const headers = context.shared(...MESSAGE_HEADERS);
    yield `,"webhooks":{${toMembers(workspaceWebhooks(followed, headers))}`;
    for (const entity of followed) yield `,${toMembers(entityWebhooks(entity, headers))}`;
    yield '}';
  }
  const operations = new Set(views.flatMap((view) => view.operations));
  const used = new Set([
    ...ALWAYS,
    ...views.flatMap(listOperatorSchemas),
    ...Object.keys(ENVELOPE_USERS).filter((name) => ENVELOPE_USERS[name]?.some((user) => operations.has(user))),
  ]);
  if (hasFields && used.has('wda.WriteMeta')) used.add('wda.Id');
  schemas.set('wda', [toMembers({ ...envelopes(facts, hasFields, used), ...ERROR_SCHEMAS })]);
  parameters.set('wda', [
    toMembers(
      Object.fromEntries([...shared].map((name) => [sharedName(name), sharedParameter(name, facts.maxPageSize)])),
    ),
  ]);
  addComponents(sharedComponents(operations, facts.maxBulk));
  responses.push(
    toMembers({
      ...errorResponses(withStatuses([...codes].filter(hasOwnResponse))),
      [OTHER_ERRORS]: otherResponse([...codes].filter((code) => !hasOwnResponse(code))),
    }),
  );
  yield ',"components":{"schemas":';
  yield* writeObject([...schemas.values()].flat());
  yield ',"parameters":';
  yield* writeObject([...parameters.values()].flat());
  yield ',"responses":';
  yield* writeObject(responses);
  yield ',"requestBodies":';
  yield* writeObject(bodies);
  yield `,${toMembers({ securitySchemes: schemes })}}}`;
}

const INTRODUCTION =
  'Records of this workspace, as this credential may read and write them. HEAD is answered as GET without the body. A refusal has the form of `wda.Error`.';

/** Statuses that a client handles differently in each operation; the others share one response. */
const OWN_STATUSES: readonly number[] = [400, 404, 409, 412];
const OTHER_ERRORS = 'Refused';
const hasOwnResponse = (code: ErrorCode): boolean => OWN_STATUSES.includes(ERROR_CODES[code]);

const NONE: ReadonlySet<string> = new Set();
const ALWAYS = ['wda.Index', 'wda.Schema', 'wda.Batch', 'wda.BatchResult', 'wda.Job'];
/** Operations that refer to each of the other envelopes. */
const ENVELOPE_USERS: Readonly<Record<string, readonly OperationName[]>> = {
  'wda.Meta': ['list', 'query'],
  'wda.GroupMeta': ['aggregate', 'summarize'],
  'wda.Query': ['query'],
  'wda.Filter': ['query', 'summarize', 'updateWhere', 'deleteWhere'],
  'wda.Aggregate': ['summarize'],
  'wda.WriteMeta': ['bulkCreate', 'bulkUpdate'],
  'wda.Ids': ['bulkDeleteListed'],
  'wda.UpdateItem': ['bulkUpdate'],
  'wda.ImportResult': ['import'],
  'wda.FeedMeta': ['changes'],
  'wda.ControlEvent': ['changes'],
  'wda.HistoryMeta': ['history'],
  'wda.Actor': ['changes', 'history'],
};

/** Adds components of the entity to those of the same kind of others: together they are shorter when zipped. */
function addByKind(added: Map<string, string[]>, { entity }: EntityView, components: Part): void {
  for (const [name, component] of Object.entries(components)) {
    const kind = name.slice(entity.name.length);
    const texts = added.get(kind) ?? [];
    texts.push(toMembers({ [name]: component }));
    added.set(kind, texts);
  }
}

/** Returns `"a":…,"b":…`. */
const toMembers = (members: Part): string => JSON.stringify(members).slice(1, -1);

/** Yields the text of the object with these members, each as toMembers() returns them. */
function* writeObject(members: readonly string[]): Generator<string, void> {
  yield '{';
  let separator = '';
  for (const text of members) {
    if (text === '') continue;
    yield separator + text;
    separator = ',';
  }
  yield '}';
}

/** Selects the requested entities, with the relations among them, or all if undefined; none without an operation. */
function selectViews(
  workspace: Workspace,
  principal: PrincipalClass,
  entities: ReadonlySet<string> | undefined,
): readonly EntityView[] {
  const views = buildViews(workspace, principal).filter(({ operations }) => operations.length > 0);
  if (entities === undefined) return views;
  return views
    .filter(({ entity }) => entities.has(entity.name))
    .map((view) => ({
      ...view,
      relations: new Map([...view.relations].filter(([, { relation }]) => entities.has(relation.entity))),
    }));
}

const makeTag = ({ entity }: EntityView): Part => ({
  name: entity.name,
  description: entity.description ?? `Records of ${entity.name}.`,
});

/** Returns alternative schemes, by name. */
function securitySchemes(
  { kind }: PrincipalClass,
  provider: IdentityProvider | null,
  tokenUrl: string,
): Readonly<Record<string, Part>> {
  return {
    bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or a token.' },
    ...(kind === 'external'
      ? {}
      : { oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } } }),
    // A provider whose keys are at an address of their own may have no discovery.
    ...(provider?.enabled === true && provider.jwksUri === null
      ? {
          oidc: {
            type: 'openIdConnect',
            openIdConnectUrl: `${provider.issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`,
          },
        }
      : {}),
  };
}
