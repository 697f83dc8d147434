// /identity-provider: the identity provider of a workspace.
import type { Static } from 'typebox';
import type { ExternalTokens } from '../auth/external-token.ts';
import { findUrlMistakes, inspectProvider, PRIVATE_WARNING, type UrlMistake } from '../auth/inspect-provider.ts';
import type { Session } from '../database/pool.ts';
import { type ApiError, notFound, validationFailed } from '../errors.ts';
import type { HttpClient } from '../http-client/http-client.ts';
import type { Claims } from '../model/claim.ts';
import { isStorableJson } from '../model/exact-json.ts';
import type { Principal } from '../model/principal.ts';
import type { IdentityProvider } from '../model/workspace.ts';
import type { ErrorConditions } from '../openapi/operation.ts';
import type { Report } from '../schema/report.ts';
import { Type } from '../schema/type.ts';
import {
  deleteIdentityProvider,
  findIdentityProvider,
  findTwins,
  lockIdentityProvider,
  putIdentityProvider,
  updateIdentityProvider,
} from '../store/identity-provider.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import type { Audit, AuditEntry } from './audit.ts';
import { type Body, checkBody, NOT_STORABLE } from './body.ts';
import {
  data,
  enumShape,
  NOTHING,
  nullableShape,
  objectShape,
  respond,
  respondNothing,
  type TypedReply,
} from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';
import { entityTag, type MustMatch, respondTaggedValue, tagHeader } from './tag.ts';
import { findOpenEntities, warnedShape, warningMeta } from './warnings.ts';

export interface IdentityProviderServices extends AdminServices {
  readonly identityProviders: {
    readonly outbound: HttpClient;
    readonly externalTokens: ExternalTokens;
    /** Issuer of internal tokens. */
    readonly publicUrl: string;
    /** Logs warnings that the response does not show. */
    readonly onWarning: (issuerUrl: string, warning: string) => void;
  };
}

const Issuer = { description: '`iss` of its tokens.' };
const KeySet = { description: 'URL of its keys. Left out: the URL in the discovery document of the issuer.' };
const Audience = { description: '`aud` of its tokens. Without it tokens for other applications are accepted, too.' };
const RoleClaim = {
  description: 'Claim with the roles of a user, by name or dotted path. Left out: users have no roles.',
};
const RequiredClaims = {
  description:
    'Claims that a token must carry, by name or dotted path, each with this value or as a list that contains it; at most 4 KiB of JSON. Left out: none.',
  examples: [{ org_id: 'acme' }],
};
const Blankable = { type: ['string', 'null'], maxLength: 2048 };
export const Permissions = enumShape('READ_ONLY', 'READ_WRITE');

const OPTIONAL_MEMBERS = {
  jwksUri: Type.Optional(Type.Unsafe<string | null>({ ...Blankable, ...KeySet })),
  audience: Type.Optional(Type.Unsafe<string | null>({ ...Blankable, ...Audience })),
  roleClaim: Type.Optional(Type.Unsafe<string | null>({ ...Blankable, maxLength: 500, ...RoleClaim })),
  requiredClaims: Type.Optional(Type.Unsafe<Claims | null>({ type: ['object', 'null'], ...RequiredClaims })),
};
export const NewIdentityProvider = objectShape(
  {
    issuerUrl: Type.String({ minLength: 1, maxLength: 2048, ...Issuer }),
    ...OPTIONAL_MEMBERS,
    defaultPermissions: Permissions,
    enabled: Type.Boolean(),
  },
  { title: 'NewIdentityProvider' },
);
const Change = objectShape(
  { ...OPTIONAL_MEMBERS, defaultPermissions: Type.Optional(Permissions), enabled: Type.Optional(Type.Boolean()) },
  { title: 'IdentityProviderChange', description: 'Members that are left out keep their values.' },
);
export const IdentityProviderResponse = objectShape(
  {
    issuerUrl: Type.String(Issuer),
    jwksUri: nullableShape(Type.String(KeySet)),
    audience: nullableShape(Type.String(Audience)),
    defaultPermissions: Permissions,
    enabled: Type.Boolean(),
    roleClaim: Type.Optional(Type.String(RoleClaim)),
    requiredClaims: Type.Optional(Type.Unsafe<Claims>({ type: 'object', ...RequiredClaims })),
  },
  { title: 'IdentityProvider' },
);
/** Response to a change: warnings in `meta`; `data` is the same as a GET's. */
const WithWarnings = warnedShape(IdentityProviderResponse);

const PROVIDER = 'identity provider';
const NO_PROVIDER_ERRORS: ErrorConditions = { NOT_FOUND: 'the workspace does not exist, or has no identity provider' };

type ProviderBody =
  | { readonly kind: 'whole'; readonly provider: Static<typeof NewIdentityProvider> }
  | { readonly kind: 'change'; readonly inForce: IdentityProvider; readonly change: Static<typeof Change> };

/** Body with an issuer, which replaces the provider, or without one, which changes the current provider. */
const REPLACEMENT_OR_CHANGE: Body<ProviderBody, IdentityProvider | undefined> = {
  shape: Type.Union([NewIdentityProvider, Change]),
  read(raw, inForce) {
    const isReplacement = typeof raw !== 'object' || raw === null || Object.hasOwn(raw, 'issuerUrl');
    return isReplacement || inForce === undefined
      ? { kind: 'whole', provider: checkProvider(raw, NewIdentityProvider) }
      : { kind: 'change', inForce, change: checkProvider(raw, Change) };
  },
};

const MAX_CLAIMS_BYTES = 4096;

/** Checks a body against a shape and returns it; the numbers in its required claims keep all of their digits. */
function checkProvider<S extends typeof NewIdentityProvider | typeof Change>(raw: unknown, shape: S): Static<S> {
  const input = checkBody(raw, shape, ({ requiredClaims }, report) => checkRequiredClaims(requiredClaims, report));
  const { requiredClaims } = raw as Static<typeof Change>;
  return requiredClaims === undefined ? input : { ...input, requiredClaims };
}

export function checkRequiredClaims(requiredClaims: Claims | null | undefined, report: Report): void {
  if (requiredClaims === undefined || requiredClaims === null) return;
  if (Buffer.byteLength(JSON.stringify(requiredClaims)) > MAX_CLAIMS_BYTES)
    report(['requiredClaims'], 'TOO_LONG', `must have at most ${MAX_CLAIMS_BYTES} bytes of JSON`);
  if (Object.hasOwn(requiredClaims, '')) report(['requiredClaims'], 'INVALID', 'must name each claim');
  if (!isStorableJson(requiredClaims)) report(['requiredClaims'], 'INVALID', NOT_STORABLE);
}

/** Returns the configuration as it is stored. */
export const toProvider = ({
  jwksUri,
  audience,
  roleClaim,
  requiredClaims,
  ...members
}: Static<typeof NewIdentityProvider>): IdentityProvider => ({
  ...members,
  jwksUri: blankToNull(jwksUri) ?? null,
  audience: blankToNull(audience) ?? null,
  roleClaim: blankToNull(roleClaim) ?? null,
  requiredClaims: emptyToNull(requiredClaims) ?? null,
});

/** Checks If-Match in the transaction of a change, and locks the provider in force until that ends. */
async function lockMatching(session: Pick<Session, 'query'>, workspaceId: string, mustMatch: MustMatch): Promise<void> {
  const inForce = await lockIdentityProvider(session, workspaceId);
  mustMatch(inForce && entityTag(showProvider(inForce)));
}

/** Returns functions that replace and change a provider. */
export function providerChanges({ identityProviders, databases }: IdentityProviderServices) {
  const { outbound, publicUrl, onWarning } = identityProviders;

  /**
   * Returns warnings about current failures of the provider that the principal may see. Throws 400, at paths below `prefix`,
   * for URLs in `input` that no provider can have; stored ones, which the settings of the server may forbid now, become warnings.
   */
  async function inspect(
    source: Pick<IdentityProvider, 'issuerUrl' | 'jwksUri'>,
    { kind }: Principal,
    input: { readonly issuerUrl?: unknown; readonly jwksUri?: unknown },
    prefix = '',
  ): Promise<readonly string[]> {
    const { mistakes, warnings, isPrivate } = await inspectProvider(outbound, publicUrl, source);
    if (mistakes.some(({ field }) => input[field] !== undefined)) {
      throw validationFailed(
        mistakes.map(({ field, message }) => ({ field: prefix + field, code: 'INVALID', message })),
      );
    }
    if (mistakes.length > 0)
      return mistakes.map(({ field, message }) => `No token can be verified at the moment: ${field} ${message}`);
    // Details would let an owner explore the network of the server.
    if (!isPrivate || kind === 'operator' || warnings.length === 0) return warnings;
    for (const warning of warnings) onWarning(source.issuerUrl, warning);
    return [PRIVATE_WARNING];
  }

  async function put(
    { id, principal, mustMatch, audit }: ChangeContext,
    input: Static<typeof NewIdentityProvider>,
  ): Promise<PutResponse> {
    const provider = toProvider(input);
    const warnings = await inspect(provider, principal, input);
    const storedProvider = await audit.change(
      async (session) => {
        await lockMatching(session, id, mustMatch);
        return requireValue(putIdentityProvider(session, id, provider), workspaceDeleted);
      },
      (saved) => toAuditEntry(saved, warnings),
    );
    return withWarnings(storedProvider, warnings, await findAccessWarnings(id, principal));
  }

  async function change(
    { id, principal, mustMatch, audit }: ChangeContext,
    { issuerUrl, jwksUri: storedUri, enabled: wasEnabled }: IdentityProvider,
    input: Static<typeof Change>,
  ): Promise<PutResponse> {
    const { jwksUri, audience, roleClaim, requiredClaims, ...members } = input;
    const uri = blankToNull(jwksUri);
    // A provider that is disabled afterwards is contacted for the sake of a new URL alone.
    const isInspected = uri !== undefined || (members.enabled ?? wasEnabled);
    const source = { issuerUrl, jwksUri: uri === undefined ? storedUri : uri };
    const warnings = isInspected ? await inspect(source, principal, { jwksUri: uri }) : [];
    const changes = {
      ...members,
      ...(uri === undefined ? {} : { jwksUri: uri }),
      ...(audience === undefined ? {} : { audience: blankToNull(audience) ?? null }),
      ...(roleClaim === undefined ? {} : { roleClaim: blankToNull(roleClaim) ?? null }),
      ...(requiredClaims === undefined ? {} : { requiredClaims: emptyToNull(requiredClaims) ?? null }),
    };
    const storedProvider = await audit.change(
      async (session) => {
        await lockMatching(session, id, mustMatch);
        return requireValue(updateIdentityProvider(session, id, changes), noProvider);
      },
      (saved) => toAuditEntry(saved, warnings),
    );
    return withWarnings(storedProvider, warnings, await findAccessWarnings(id, principal));
  }

  /** Returns warnings about tokens of other workspaces, of which an owner learns no names, and about open entities. */
  async function findAccessWarnings(id: string, { kind }: Principal): Promise<readonly string[]> {
    const twins = await findTwins(databases.directory, id);
    return [
      ...(twins.length === 0 ? [] : [describeTwins(kind === 'operator' ? twins.join(', ') : 'another workspace')]),
      ...(await findOpenEntities(databases, id)),
    ];
  }

  const findMistakes = (provider: IdentityProvider): readonly UrlMistake[] =>
    findUrlMistakes(outbound, publicUrl, provider);

  return { put, change, inspect, findAccessWarnings, findMistakes };
}

/** Workspace of the provider, audit log of the request and check of If-Match. */
interface ChangeContext {
  readonly id: string;
  readonly principal: Principal;
  readonly mustMatch: MustMatch;
  readonly audit: Audit;
}

export function identityProviderRoutes(services: IdentityProviderServices): AdminRoute[] {
  const { databases } = services;
  const { directory } = databases;
  const { put, change } = providerChanges(services);
  const route = routeMaker(services);
  return [
    route({
      id: 'identityProvider.read',
      method: 'GET',
      path: `${WORKSPACE}/identity-provider`,
      access: 'workspace',
      summary: 'The identity provider of a workspace',
      description: 'There is one at most.',
      errors: NO_PROVIDER_ERRORS,
      responses: { 200: data(IdentityProviderResponse), 304: NOTHING },
      async handle({ workspace, ifNoneMatch }) {
        const provider = await requireValue(findIdentityProvider(directory, workspace.id), noProvider);
        return respondTaggedValue(showProvider(provider), ifNoneMatch);
      },
    }),
    route({
      id: 'identityProvider.update',
      method: 'PUT',
      path: `${WORKSPACE}/identity-provider`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Configures the identity provider of a workspace, or changes what is given of it',
      find: ({ workspace }) => findIdentityProvider(directory, workspace.id),
      description:
        'With `issuerUrl` it is the whole configuration, without it a change of the one in force. `meta.warnings` tells what does not work at the moment, and which entities are open to every user; it is stored nevertheless.',
      errors: NO_PROVIDER_ERRORS,
      guarded: PROVIDER,
      body: REPLACEMENT_OR_CHANGE,
      example: {
        issuerUrl: 'https://login.example.com/',
        audience: 'https://api.example.com',
        defaultPermissions: 'READ_ONLY',
        enabled: true,
      },
      responses: { 200: WithWarnings },
      handle: ({ workspace: { id }, principal, mustMatch, audit, body: input }) =>
        input.kind === 'whole'
          ? put({ id, principal, mustMatch, audit }, input.provider)
          : change({ id, principal, mustMatch, audit }, input.inForce, input.change),
    }),
    route({
      id: 'identityProvider.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/identity-provider`,
      access: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Takes the identity provider from a workspace',
      description: 'Its tokens work in no process any more when this is answered.',
      errors: NO_PROVIDER_ERRORS,
      guarded: PROVIDER,
      responses: { 204: NOTHING },
      async handle({ workspace: { id }, mustMatch, audit }) {
        await audit.change(
          async (session) => {
            await lockMatching(session, id, mustMatch);
            if (!(await deleteIdentityProvider(session, id))) throw noProvider();
          },
          () => ({ subject: 'identity provider' }),
        );
        return respondNothing();
      },
    }),
  ];
}

/** Returns the entry with what the check of the provider has warned of, so that it can be read later. */
const toAuditEntry = (provider: IdentityProvider, warnings: readonly string[]): AuditEntry => ({
  subject: provider.issuerUrl,
  details: { ...showProvider(provider), ...(warnings.length > 0 && { warnings }) },
});

type PutResponse = TypedReply<Static<typeof WithWarnings>, 200>;

/** Returns null for blank text, and undefined if there is none. */
function blankToNull(text: string | null | undefined): string | null | undefined {
  return text?.trim() === '' ? null : text;
}

/** Returns null for an object without members, and undefined if there is none. */
function emptyToNull(claims: Claims | null | undefined): Claims | null | undefined {
  return claims !== undefined && claims !== null && Object.keys(claims).length === 0 ? null : claims;
}

const describeTwins = (others: string): string =>
  `The same issuer and audience as ${others}: tokens for one workspace are valid in the other, as neither has requiredClaims`;

const noProvider = (): ApiError => notFound('IDENTITY_PROVIDER_NOT_FOUND', 'The workspace has no identity provider');

const NO_AUDIENCE =
  'audience is blank: tokens that the provider issued for any other application are accepted here, too';

export const listWarnings = (
  { audience }: IdentityProvider,
  inspectionWarnings: readonly string[],
  accessWarnings: readonly string[],
): readonly string[] => [...inspectionWarnings, ...(audience === null ? [NO_AUDIENCE] : []), ...accessWarnings];

function withWarnings(
  provider: IdentityProvider,
  inspectionWarnings: readonly string[],
  accessWarnings: readonly string[],
): PutResponse {
  const response = showProvider(provider);
  const meta = warningMeta(listWarnings(provider, inspectionWarnings, accessWarnings));
  return respond(200, { data: response, ...meta }, tagHeader(entityTag(response)));
}

export function showProvider(provider: IdentityProvider): Static<typeof IdentityProviderResponse> {
  const { issuerUrl, jwksUri, audience, defaultPermissions, enabled, roleClaim, requiredClaims } = provider;
  const role = roleClaim === null ? {} : { roleClaim };
  const required = requiredClaims === null ? {} : { requiredClaims };
  return { issuerUrl, jwksUri, audience, defaultPermissions, enabled, ...role, ...required };
}
