// Describes a workspace as the sender may use it: an index of its entities for people and agents, and the OpenAPI
// document for programs.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { runInSlices } from '../http/body.ts';
import type { RawRequest } from '../http/request.ts';
import { makeConcurrencyLimiter } from '../limits/concurrency.ts';
import type { TimeSlices } from '../limits/fair-scheduler.ts';
import { type External, mayAdminister } from '../model/principal.ts';
import { getUnrestricted } from '../model/restricted.ts';
import type { Workspace } from '../model/workspace.ts';
import { type DocumentFacts, generateDocument, workspaceUrl } from '../openapi/document.ts';
import { buildOutline } from '../openapi/outline.ts';
import { buildViews, getPrincipalClass } from '../openapi/view.ts';
import { matches, parseEntityTags } from '../request/conditions.ts';
import { checkNames, parseDocumentRequest } from '../request/document-request.ts';
import { WORKSPACE_OPERATIONS, type WorkspaceOperationName } from '../request/operations.ts';
import { parseParameters } from '../request/query-string.ts';
import { acceptsGzip } from '../response/content-coding.ts';
import { JSON_TYPE, json, type Reply } from '../response/reply.ts';
import type { WorkspaceCache } from '../store/workspace-cache.ts';
import type { Access } from './context.ts';
import { usersDocumentRefused } from './errors.ts';

export interface Descriptions {
  /** Returns 200 with the entities and their operations; 400 for a query parameter. */
  readonly index: (context: DescribeContext) => Reply;
  /**
   * Returns 200 with the OpenAPI document, or 304; 400 for a query parameter; 503 when too many others are generated.
   */
  readonly document: (context: DescribeContext) => Promise<Reply>;
  /** Returns the schema in the form of the schema document, with the same status codes. */
  readonly schema: (context: DescribeContext) => Promise<Reply>;
}

/** Parts of a request that a description depends on. */
export interface DescribeContext extends Access {
  readonly request: Pick<RawRequest, 'query' | 'headers' | 'slices'>;
}

/** A document in its encoded form. */
interface CachedDocument {
  readonly tag: string;
  readonly plain: Buffer;
  readonly zipped: Buffer;
}

// Plain and compressed, some twenty documents of workspaces of 200 entities.
const MAX_CACHE_BYTES = 64 * 1024 * 1024;
const TAG_CHARACTERS = 22;
// Generating one takes some 10 MB. A workspace of 200 entities has too many documents to cache all, one for each choice
// of entities.
const MAX_CONCURRENT = 2;
const MAX_WAITING = 1000;
const WAIT_MS = 30_000;
/** A document is generated for all who wait for it, even if the first of them has disconnected. */
const NEVER_ABORTED = { isAborted: () => false, onAbort: () => () => undefined };

const zip = promisify(gzip);

/** Creates the descriptions. `mcp`: whether agents are served. */
export function makeDescriptions(
  facts: DocumentFacts & { readonly mcp: boolean },
  { restrict }: Pick<WorkspaceCache, 'restrict'>,
): Descriptions {
  const cache = new LRUCache<string, CachedDocument>({
    maxSize: MAX_CACHE_BYTES,
    sizeCalculation: ({ plain, zipped }, key) => plain.length + zipped.length + 2 * key.length,
  });
  const limiter = makeConcurrencyLimiter({ count: MAX_CONCURRENT, resources: 'documents', maxWaiting: MAX_WAITING });
  /** Shared generation for concurrent requests: 200 entities take some 100 ms. */
  const pendingDocuments = new Map<string, Promise<CachedDocument>>();

  const buildUrl = ({ workspace }: Access, operation: WorkspaceOperationName): string =>
    `${workspaceUrl(facts.publicUrl, workspace)}/${WORKSPACE_OPERATIONS[operation].name}`;

  function index(context: DescribeContext): Reply {
    parseParameters(context.request.query, []);
    const { workspace, principal } = context;
    const openapi = buildUrl(context, 'openapi');
    const mcp = facts.mcp && workspace.agents.enabled ? buildUrl(context, 'mcp') : null;
    const entities = buildViews(workspace, getPrincipalClass(principal)).map(({ entity, operations }) => ({
      name: entity.name,
      description: entity.description ?? null,
      operations,
    }));
    const data = { organization: workspace.organization, workspace: workspace.slug, entities, openapi, mcp };
    // service-desc: RFC 8631.
    return json(200, { data }, { Link: `<${openapi}>; rel="service-desc"; type="application/json"` });
  }

  const document: Descriptions['document'] = async ({ request: { query, headers, slices }, ...access }) => {
    const documentRequest = parseDocumentRequest(query);
    const { workspace, principal } = selectReader(access, documentRequest.roles);
    const names = [...workspace.entities.keys()];
    checkNames('entity', documentRequest.entities ?? [], names);
    const viewClass = getPrincipalClass(principal);
    const visibleNames =
      documentRequest.entities === undefined ? names : names.filter((name) => documentRequest.entities?.has(name));
    const key = [viewClass.kind, viewClass.mayWrite, documentRequest.selection, ...visibleNames].join();
    const write = () => generateDocument(workspace, viewClass, documentRequest, facts);
    return makeReply(await getDocument(workspace, key, slices, write), headers);
  };

  /** Returns whom the document is for. Throws 403 for roles that the sender may not ask for, 400 for unknown ones. */
  function selectReader(access: Access, roles: readonly string[] | undefined): Access {
    const { workspace, principal } = access;
    if (roles === undefined || (principal.kind === 'external' && roles.length === 0)) return access;
    if (!mayAdminister(principal, workspace.id)) throw usersDocumentRefused();
    checkNames('role', roles, workspace.roles);
    const user: External = {
      kind: 'external',
      permissions: workspace.identityProvider?.defaultPermissions ?? 'READ_WRITE',
      workspaceId: workspace.id,
      scope: null,
      credentialId: principal.credentialId,
      claims: {},
      roles,
      onlyGrants: false,
    };
    return { workspace: restrict(getUnrestricted(workspace), user), principal: user };
  }

  const schema: Descriptions['schema'] = async ({ request: { query, headers, slices }, workspace, principal }) => {
    parseParameters(query, []);
    const viewClass = getPrincipalClass(principal);
    const write = () => [JSON.stringify({ data: buildOutline(workspace, viewClass) })];
    return makeReply(
      await getDocument(workspace, `schema ${viewClass.kind} ${viewClass.mayWrite}`, slices, write),
      headers,
    );
  };

  /**
   * Returns the document of this snapshot and key from the cache, or makes one for all who request it meanwhile. `write`
   * returns the pieces of its text.
   */
  function getDocument(
    workspace: Workspace,
    what: string,
    slices: TimeSlices,
    write: () => Iterable<string>,
  ): CachedDocument | Promise<CachedDocument> {
    // The description of a part differs from that of the whole: it has fewer relations.
    const key = `${workspace.id}.${workspace.version} ${workspace.part?.key ?? ''} ${what}`;
    async function make(): Promise<CachedDocument> {
      const deadline = performance.now() + WAIT_MS;
      const end = await limiter.acquire({ workspace: workspace.id, user: undefined, signal: NEVER_ABORTED, deadline });
      try {
        const { tag, plain } = await runInSlices(encode(write()), slices, NEVER_ABORTED);
        const entry = { tag, plain, zipped: await zip(plain, { level: constants.Z_BEST_COMPRESSION }) };
        cache.set(key, entry);
        return entry;
      } finally {
        end();
      }
    }
    const existing = cache.get(key) ?? pendingDocuments.get(key);
    if (existing !== undefined) return existing;
    const pending = make().finally(() => pendingDocuments.delete(key));
    pendingDocuments.set(key, pending);
    return pending;
  }

  return { index, document, schema };
}

/**
 * Encodes and hashes a text piece by piece, and yields after each: the hash of 4 MB takes 5 to 30 ms, joining and encoding
 * their text as long again.
 */
function* encode(pieces: Iterable<string>): Generator<undefined, Pick<CachedDocument, 'tag' | 'plain'>> {
  const digest = createHash('sha256');
  const parts: Buffer[] = [];
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    digest.update(bytes);
    parts.push(bytes);
    yield;
  }
  return { tag: digest.digest('base64url').slice(0, TAG_CHARACTERS), plain: Buffer.concat(parts) };
}

function makeReply({ tag, plain, zipped }: CachedDocument, headers: RawRequest['headers']): Reply {
  const common = { ETag: `"${tag}"`, Vary: 'Accept-Encoding' };
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch !== undefined && matches(parseEntityTags(ifNoneMatch), tag)) {
    return { status: 304, headers: common, body: { kind: 'empty' } };
  }
  const isZipped = acceptsGzip(headers['accept-encoding']);
  return {
    status: 200,
    headers: isZipped ? { ...common, 'Content-Encoding': 'gzip' } : common,
    body: { kind: 'bytes', contentType: JSON_TYPE, bytes: isZipped ? zipped : plain },
  };
}
