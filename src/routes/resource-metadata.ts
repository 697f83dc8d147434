// Serves resource metadata to agents' clients before they have a credential (RFC 9728): required resource of tokens,
// and their issuers.
import { methodNotAllowed, notFound } from '../errors.ts';
import { DEFAULT_ERROR_HANDLING, type Mount, type UrlOrigins } from '../http/router.ts';
import type { Workspace } from '../model/workspace.ts';
import { type Operation, objectShape, TEXT, TEXTS } from '../openapi/operation.ts';
import { agentsPath, PREFIX, RESOURCE_METADATA, splitSegments } from '../request/record-path.ts';
import { json } from '../response/reply.ts';

export interface ResourceMetadataServices {
  readonly publicUrl: string;
  /** Whether workspaces may be served to agents. */
  readonly mcp: boolean;
  readonly findWorkspace: (
    organization: string,
    slug: string,
  ) => Workspace | undefined | Promise<Workspace | undefined>;
  /** Origins of workspaces, by the URLs of the data API. */
  readonly corsOrigins: UrlOrigins | undefined;
  /** Resolves when an unauthenticated request may get its response. */
  readonly waitForThrottle: () => Promise<void>;
}

const READ = ['GET', 'HEAD'];

const METADATA: Operation = {
  method: 'GET',
  pattern: `${RESOURCE_METADATA}${agentsPath(':org', ':ws').replaceAll('%3A', ':')}`,
  describe: {
    id: 'oauth.resource',
    summary: 'Who gives tokens for a workspace',
    description:
      'RFC 9728, for clients of agents. A workspace that does not exist is answered like one without a provider.',
    credential: 'none',
    params: { org: TEXT, ws: TEXT },
    query: {},
    responses: {
      200: {
        shape: objectShape({
          resource: TEXT,
          authorization_servers: TEXTS,
          bearer_methods_supported: TEXTS,
          resource_name: TEXT,
        }),
      },
    },
    errors: [
      { status: 404, code: 'NOT_FOUND', when: 'the server serves no agents' },
      { status: 405, code: 'METHOD_NOT_ALLOWED', when: 'the method is another one' },
      { status: 503, code: 'SERVICE_UNAVAILABLE', when: 'the server or its database cannot answer at the moment' },
    ],
  },
};

/**
 * Creates the mount of `GET /.well-known/oauth-protected-resource/api/v1/{org}/{ws}/_mcp`. We are the first
 * authorization server in the list: a client that has our secret must never send it to the provider of a tenant. A
 * workspace that does not exist, has no provider or is not served to agents names only us.
 *
 * Requests have no credential, and an uncached slug is looked up in the database: all responses are throttled like
 * errors, as their delay would otherwise reveal which workspaces exist.
 */
export function resourceMetadataMount({
  publicUrl,
  mcp,
  findWorkspace,
  corsOrigins,
  waitForThrottle,
}: ResourceMetadataServices): Mount {
  return {
    ...DEFAULT_ERROR_HANDLING,
    matches: (url) => url.startsWith(RESOURCE_METADATA + PREFIX),
    readyFirst: true,
    operations: [METADATA],
    ...(corsOrigins === undefined
      ? {}
      : {
          corsOrigins: {
            getCached: (url: string) => corsOrigins.getCached(url.slice(RESOURCE_METADATA.length)),
            find: (url: string) => corsOrigins.find(url.slice(RESOURCE_METADATA.length)),
          },
        }),
    getOperationName: () => RESOURCE_METADATA,
    async handle({ method, path }) {
      const [organization = '', slug = '', ...segments] = splitSegments(path.slice(RESOURCE_METADATA.length));
      const resourcePath = agentsPath(organization, slug);
      if (!mcp || segments.join('/') !== resourcePath.split('/').at(-1))
        throw notFound('PATH_NOT_FOUND', `There is nothing at ${path.slice(0, 200)}`);
      if (!READ.includes(method)) throw methodNotAllowed(method, READ);
      await waitForThrottle();
      const workspace = await findWorkspace(organization, slug);
      const provider = workspace?.agents.enabled === true ? workspace.identityProvider : null;
      return json(200, {
        resource: publicUrl + resourcePath,
        authorization_servers: [publicUrl, ...(provider?.enabled === true ? [provider.issuerUrl] : [])],
        bearer_methods_supported: ['header'],
        resource_name: `${organization}/${slug}`,
      });
    },
  };
}
