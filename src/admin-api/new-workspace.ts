// Parts that a new workspace starts with besides its schema: an identity provider and API keys. Their mistakes are reported
// with those of the schema, and they are stored in the transaction that creates the tables.
import type { Static } from 'typebox';
import type { Session } from '../database/pool.ts';
import { validationFailed } from '../errors.ts';
import { isStorable } from '../model/exact-json.ts';
import type { IdentityProvider } from '../model/workspace.ts';
import type { SchemaDocument } from '../schema/format.ts';
import { makeReport, type Report, withPrefix } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import type { Actor } from '../store/activity.ts';
import { type ApiKey, createApiKey } from '../store/api-keys.ts';
import { loadEntityIds } from '../store/documents.ts';
import { putIdentityProvider } from '../store/identity-provider.ts';
import { noWorkspace, requireValue } from './access.ts';
import { ApiKeyCreated, type ApiKeyMaker, NewApiKey, parseNewKey, showKey } from './api-keys.ts';
import { NOT_STORABLE } from './body.ts';
import {
  checkRequiredClaims,
  IdentityProviderResponse,
  NewIdentityProvider,
  showProvider,
  toProvider,
} from './identity-provider.ts';
import { arrayShape } from './response.ts';
import type { KeyTargets } from './scopes.ts';

const MAX_NEW_KEYS = 20;

/** Members of the body. */
export const NEW_PARTS = {
  identityProvider: Type.Optional(NewIdentityProvider),
  apiKeys: Type.Optional(
    Type.Unsafe<readonly Static<typeof NewApiKey>[]>({
      type: 'array',
      items: NewApiKey,
      maxItems: MAX_NEW_KEYS,
      description: 'Keys to make; their `entities` and `roles` are those of its schema.',
    }),
  ),
};

/** Members of the response. */
export const CREATED_PARTS = {
  identityProvider: Type.Optional(IdentityProviderResponse),
  apiKeys: Type.Optional(arrayShape(ApiKeyCreated)),
};

interface PartsBody {
  readonly identityProvider?: Static<typeof NewIdentityProvider>;
  readonly apiKeys?: readonly (Static<typeof NewApiKey> | undefined)[];
}

export interface NewParts {
  readonly identityProvider: IdentityProvider | undefined;
  /** The scope of a key has names of entities, which have no ids yet. */
  readonly apiKeys: readonly ReturnType<typeof parseNewKey>[] | undefined;
}

/**
 * Parses the parts; reports their mistakes. `raw`: the body with all digits of its numbers. `document`: undefined without
 * a schema, or for one with mistakes, whose names count nevertheless.
 */
export function parseParts(
  { identityProvider, apiKeys }: PartsBody,
  report: Report,
  raw: unknown,
  document: SchemaDocument | undefined,
  findUrlMistakes: (provider: IdentityProvider) => readonly { readonly field: string; readonly message: string }[],
): NewParts {
  const exact = raw as { readonly identityProvider?: PartsBody['identityProvider']; readonly apiKeys?: unknown[] };
  let provider: IdentityProvider | undefined;
  if (identityProvider !== undefined) {
    const reportProvider = withPrefix(report, ['identityProvider']);
    reportUnstorable(identityProvider, reportProvider);
    const { requiredClaims } = exact.identityProvider ?? {};
    checkRequiredClaims(requiredClaims, reportProvider);
    provider = toProvider(requiredClaims === undefined ? identityProvider : { ...identityProvider, requiredClaims });
    // A URL that is missing or malformed is reported already.
    if (typeof provider.issuerUrl === 'string' && !report.has(['identityProvider', 'issuerUrl']))
      for (const { field, message } of findUrlMistakes(provider)) reportProvider([field], 'INVALID', message);
  }
  const targets = getTargets(document ?? (raw as { readonly schema?: unknown }).schema);
  const keys = apiKeys?.flatMap((key, index) => {
    if (key === undefined) return [];
    const reportKey = withPrefix(report, ['apiKeys', index]);
    reportUnstorable(key, reportKey);
    return [parseNewKey(key, reportKey, exact.apiKeys?.[index], targets)];
  });
  return { identityProvider: provider, apiKeys: keys };
}

/** Parses the parts against the document that the workspace will have; throws 400 with their mistakes. */
export function parsePartsAlone(
  body: PartsBody,
  raw: unknown,
  document: SchemaDocument,
  findUrlMistakes: Parameters<typeof parseParts>[4],
): NewParts {
  const report = makeReport(raw);
  const parts = parseParts(body, report, raw, document, findUrlMistakes);
  const details = report.details();
  if (details.length > 0) throw validationFailed(details);
  return parts;
}

function reportUnstorable(members: object, report: Report): void {
  for (const [name, value] of Object.entries(members))
    if (typeof value === 'string' && !isStorable(value)) report([name], 'INVALID', NOT_STORABLE);
}

/** Returns entities and roles of a schema document, as far as it is one. */
function getTargets(document: unknown): KeyTargets {
  const { entities, roles } = (document ?? {}) as { readonly entities?: unknown; readonly roles?: unknown };
  const names = typeof entities === 'object' && entities !== null ? Object.keys(entities) : [];
  return { ids: new Map(names.map((name) => [name, name])), roles: Array.isArray(roles) ? roles.map(String) : [] };
}

interface CreatedParts {
  readonly identityProvider?: Static<typeof IdentityProviderResponse>;
  readonly apiKeys?: readonly Static<typeof ApiKeyCreated>[];
}

/** Stores the parts in the transaction that creates the workspace; returns them as they are answered. */
export async function storeParts(
  session: Pick<Session, 'query'>,
  workspace: { readonly id: string; readonly slug: string },
  { identityProvider, apiKeys }: NewParts,
  { makeKey, createdBy }: ApiKeyMaker & { readonly createdBy: Actor },
): Promise<CreatedParts> {
  const { id, slug } = workspace;
  if (identityProvider !== undefined) await putIdentityProvider(session, id, identityProvider);
  const isScoped = apiKeys?.some(({ scope }) => scope !== null) === true;
  const ids = isScoped ? await loadEntityIds(session, id) : new Map<string, string>();
  const created: Static<typeof ApiKeyCreated>[] = [];
  for (const { scope, ...key } of apiKeys ?? []) {
    const { key: text, ...stored } = makeKey();
    // A version that is newer than the one that names were compared with may have dropped an entity.
    const entityIds = scope === null ? null : scope.flatMap((name) => ids.get(name) ?? []);
    const toStore = { ...key, ...stored, workspaceId: id, scope: entityIds, createdBy };
    const apiKey: ApiKey = await requireValue(createApiKey(session, toStore), () => noWorkspace(slug));
    created.push({ ...showKey(apiKey), key: text });
  }
  return {
    ...(identityProvider === undefined ? {} : { identityProvider: showProvider(identityProvider) }),
    ...(apiKeys === undefined ? {} : { apiKeys: created }),
  };
}

/** Returns the parts for the activity, without secrets. */
export const describeParts = ({ identityProvider, apiKeys }: CreatedParts): Readonly<Record<string, unknown>> => ({
  ...(identityProvider === undefined ? {} : { identityProvider }),
  ...(apiKeys === undefined
    ? {}
    : { apiKeys: apiKeys.map(({ id, name, permissions, entities }) => ({ id, name, permissions, entities })) }),
});
