// /identity-provider: whose users may use a workspace, and why a token of theirs is accepted or not.
import type { Static } from 'typebox';
import type { ExternalTokens } from '../../auth/external-token.ts';
import { inspectProvider, PRIVATE_WARNING } from '../../auth/inspect-provider.ts';
import { loadWorkspace } from '../../catalog/load-workspace.ts';
import type { Session } from '../../db/pool.ts';
import {
  deleteIdentityProvider,
  findIdentityProvider,
  holdIdentityProvider,
  putIdentityProvider,
  updateIdentityProvider,
} from '../../directory/identity-provider.ts';
import { Type } from '../../document/type.ts';
import { type ApiError, notFound, validationFailed } from '../../errors.ts';
import type { Principal } from '../../model/principal.ts';
import type { IdentityProvider } from '../../model/workspace.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { explainRows } from '../../plan/explain.ts';
import type { Refuses } from '../refuses.ts';
import { noWorkspaceAnyMore, required } from './access.ts';
import type { Audit, AuditEntry } from './audit.ts';
import { type Body, body, bodyOf } from './body.ts';
import { closed, data, listOf, NOTHING, nothing, oneOf, orNull, respond, single, type TypedReply } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';
import { entityTag, type MustMatch, tagged, tagHeader } from './tag.ts';

export interface IdentityProviderServices extends AdminServices {
  readonly identityProviders: {
    readonly outbound: Outbound;
    readonly externalTokens: ExternalTokens;
    /** The issuer of our own tokens. */
    readonly publicUrl: string;
    /** Called with warnings that the answer does not show. */
    readonly onWarning: (issuerUrl: string, warning: string) => void;
  };
}

const Issuer = { description: '`iss` of its tokens.' };
const KeySet = { description: 'Where its keys are. Without it the discovery document of the issuer says so.' };
const Audience = { description: '`aud` of its tokens. Without it tokens for other applications are accepted, too.' };
const Blankable = { type: ['string', 'null'], maxLength: 2048 };
const Permissions = oneOf('READ_ONLY', 'READ_WRITE');

const GIVEN = {
  jwksUri: Type.Optional(Type.Unsafe<string | null>({ ...Blankable, ...KeySet })),
  audience: Type.Optional(Type.Unsafe<string | null>({ ...Blankable, ...Audience })),
};
const Configuration = closed(
  {
    issuerUrl: Type.String({ minLength: 1, maxLength: 2048, ...Issuer }),
    ...GIVEN,
    defaultPermissions: Permissions,
    enabled: Type.Boolean(),
  },
  { title: 'NewIdentityProvider' },
);
const Change = closed(
  { ...GIVEN, defaultPermissions: Type.Optional(Permissions), enabled: Type.Optional(Type.Boolean()) },
  { title: 'IdentityProviderChange', description: 'What is left out stays.' },
);
const TokenToTest = closed({ token: Type.String({ minLength: 1, maxLength: 65_536 }) }, { title: 'TokenToTest' });

const IdentityProviderResponse = closed(
  {
    issuerUrl: Type.String(Issuer),
    jwksUri: orNull(Type.String(KeySet)),
    audience: orNull(Type.String(Audience)),
    defaultPermissions: Permissions,
    enabled: Type.Boolean(),
  },
  { title: 'IdentityProvider' },
);
/** Warnings are in `meta`; `data` is the same as a GET's. */
const WithWarnings = closed({
  data: IdentityProviderResponse,
  meta: Type.Optional(
    closed({ warnings: listOf(Type.String()) }, { description: 'What does not work at the moment.' }),
  ),
});

const Explained = closed(
  {
    accepted: Type.Boolean(),
    permissions: orNull(Permissions),
    checks: listOf(
      closed({
        check: Type.String(),
        passed: orNull(Type.Boolean({ description: 'null: it could not be made.' })),
        message: orNull(Type.String()),
      }),
    ),
    claims: orNull(Type.Unsafe<object>({ type: 'object' })),
    entities: listOf(
      closed({
        entity: Type.String(),
        sees: oneOf('all', 'some', 'none'),
        filter: Type.String({ description: 'In words.' }),
        rules: listOf(
          closed({
            column: Type.String(),
            claim: Type.String(),
            value: orNull(Type.String()),
            reason: orNull(Type.String({ description: 'Why it matches no record.' })),
          }),
        ),
      }),
    ),
  },
  { title: 'TokenExplained' },
);

const PROVIDER = 'identity provider';
const NONE: Refuses = { NOT_FOUND: 'the workspace does not exist, or has no identity provider' };

type Asked =
  | { readonly kind: 'whole'; readonly provider: Static<typeof Configuration> }
  | { readonly kind: 'change'; readonly inForce: IdentityProvider; readonly change: Static<typeof Change> };

/** Without an issuer in it a body is a change of the provider that is there. */
const WHOLE_OR_CHANGE: Body<Asked, IdentityProvider | undefined> = {
  shape: Type.Union([Configuration, Change]),
  read(raw, inForce) {
    const isWhole = typeof raw !== 'object' || raw === null || Object.hasOwn(raw, 'issuerUrl');
    return isWhole || inForce === undefined
      ? { kind: 'whole', provider: bodyOf(raw, Configuration) }
      : { kind: 'change', inForce, change: bodyOf(raw, Change) };
  },
};

/** Before a change, in its transaction: what is in force matches, and stays until the transaction ends. */
async function holdMatching(session: Pick<Session, 'query'>, workspaceId: string, mustMatch: MustMatch): Promise<void> {
  const inForce = await holdIdentityProvider(session, workspaceId);
  mustMatch(inForce && entityTag(toResponse(inForce)));
}

/** The two ways to configure a provider. */
function providerChanges({ identityProviders }: IdentityProviderServices) {
  const { outbound, publicUrl, onWarning } = identityProviders;

  /**
   * Throws 400 for URLs that no provider can have; gives warnings about what does not work at the moment, as far as the
   * principal may see them.
   */
  async function inspect(
    source: Pick<IdentityProvider, 'issuerUrl' | 'jwksUri'>,
    { kind }: Principal,
  ): Promise<readonly string[]> {
    const { mistakes, warnings, isPrivate } = await inspectProvider(outbound, publicUrl, source);
    if (mistakes.length > 0) {
      throw validationFailed(mistakes.map(({ field, message }) => ({ field, code: 'INVALID', message })));
    }
    // Otherwise an owner could use the server to explore its network.
    if (!isPrivate || kind === 'operator' || warnings.length === 0) return warnings;
    for (const warning of warnings) onWarning(source.issuerUrl, warning);
    return [PRIVATE_WARNING];
  }

  async function put({ id, principal, mustMatch, audit }: Changing, asked: Static<typeof Configuration>): Promise<Put> {
    const { jwksUri, audience, ...given } = asked;
    const provider = { ...given, jwksUri: filled(jwksUri) ?? null, audience: filled(audience) ?? null };
    const warnings = await inspect(provider, principal);
    const stored = await audit.change(async (session) => {
      await holdMatching(session, id, mustMatch);
      return required(putIdentityProvider(session, id, provider), noWorkspaceAnyMore);
    }, toldOf);
    return withWarnings(stored, warnings);
  }

  async function change(
    { id, principal, mustMatch, audit }: Changing,
    { issuerUrl }: IdentityProvider,
    asked: Static<typeof Change>,
  ): Promise<Put> {
    const { jwksUri, audience, ...given } = asked;
    const uri = filled(jwksUri);
    // Switching a provider off does not wait for it.
    const warnings = uri === undefined ? [] : await inspect({ issuerUrl, jwksUri: uri }, principal);
    const changes = {
      ...given,
      ...(uri === undefined ? {} : { jwksUri: uri }),
      ...(audience === undefined ? {} : { audience: filled(audience) ?? null }),
    };
    const stored = await audit.change(async (session) => {
      await holdMatching(session, id, mustMatch);
      return required(updateIdentityProvider(session, id, changes), none);
    }, toldOf);
    return withWarnings(stored, warnings);
  }

  return { put, change };
}

/** Workspace of the provider, its audit log, and the check of the version before. */
interface Changing {
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
      may: 'workspace',
      summary: 'The identity provider of a workspace',
      description: 'There is one at most.',
      refuses: NONE,
      responses: { 200: data(IdentityProviderResponse), 304: NOTHING },
      async handle({ workspace, ifNoneMatch }) {
        const provider = await required(findIdentityProvider(directory, workspace.id), none);
        return tagged(toResponse(provider), ifNoneMatch);
      },
    }),
    route({
      id: 'identityProvider.update',
      method: 'PUT',
      path: `${WORKSPACE}/identity-provider`,
      may: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Configures the identity provider of a workspace, or changes what is given of it',
      find: ({ workspace }) => findIdentityProvider(directory, workspace.id),
      description:
        'With `issuerUrl` it is the whole configuration, without it a change of the one in force. `meta.warnings` tells what does not work at the moment; it is stored nevertheless.',
      refuses: NONE,
      guarded: PROVIDER,
      body: WHOLE_OR_CHANGE,
      example: {
        issuerUrl: 'https://login.example.com/',
        audience: 'https://api.example.com',
        defaultPermissions: 'READ_ONLY',
        enabled: true,
      },
      responses: { 200: WithWarnings },
      handle: ({ workspace: { id }, principal, mustMatch, audit, body: asked }) =>
        asked.kind === 'whole'
          ? put({ id, principal, mustMatch, audit }, asked.provider)
          : change({ id, principal, mustMatch, audit }, asked.inForce, asked.change),
    }),
    route({
      id: 'identityProvider.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/identity-provider`,
      may: 'workspace',
      changes: 'workspace',
      activity: 'written',
      summary: 'Takes the identity provider from a workspace',
      description: 'Its tokens work in no process any more when this is answered.',
      refuses: NONE,
      guarded: PROVIDER,
      responses: { 204: NOTHING },
      async handle({ workspace: { id }, mustMatch, audit }) {
        await audit.change(
          async (session) => {
            await holdMatching(session, id, mustMatch);
            if (!(await deleteIdentityProvider(session, id))) throw none();
          },
          () => ({ subject: 'identity provider' }),
        );
        return nothing();
      },
    }),
    route({
      id: 'identityProvider.test',
      method: 'POST',
      path: `${WORKSPACE}/identity-provider/test`,
      may: 'workspace',
      changes: 'nothing',
      activity: 'none',
      summary: 'Takes a token through every check, and shows what its user sees',
      async find({ workspace: { organization, slug } }) {
        return required(loadWorkspace(databases, organization, slug), noWorkspaceAnyMore);
      },
      description: 'Each check says whether it passed. Nothing is changed, and the token is not kept.',
      refuses: {},
      body: body(TokenToTest),
      example: { token: 'eyJhbGciOiJFUzI1NiJ9.e30.AA' },
      responses: { 200: data(Explained) },
      async handle({ resource: snapshot, body: { token } }) {
        const { checks, claims, principal } = await services.identityProviders.externalTokens.explain(
          token.trim(),
          snapshot,
        );
        return single({
          accepted: principal !== null,
          permissions: principal?.permissions ?? null,
          checks,
          claims,
          entities: claims === null ? [] : explainRows(snapshot.entities.values(), claims),
        });
      },
    }),
  ];
}

const toldOf = (provider: IdentityProvider): AuditEntry => ({
  subject: provider.issuerUrl,
  details: toResponse(provider),
});

type Put = TypedReply<Static<typeof WithWarnings>, 200>;

/** Blank is null; what is not given stays undefined. */
function filled(text: string | null | undefined): string | null | undefined {
  return text?.trim() === '' ? null : text;
}

const none = (): ApiError => notFound('IDENTITY_PROVIDER_NOT_FOUND', 'The workspace has no identity provider');

const NO_AUDIENCE =
  'audience is blank: tokens that the provider issued for any other application are accepted here, too';

function withWarnings(provider: IdentityProvider, found: readonly string[]): Put {
  const warnings = provider.audience === null ? [...found, NO_AUDIENCE] : found;
  const shown = toResponse(provider);
  const meta = warnings.length === 0 ? {} : { meta: { warnings } };
  return respond(200, { data: shown, ...meta }, tagHeader(entityTag(shown)));
}

function toResponse(provider: IdentityProvider): Static<typeof IdentityProviderResponse> {
  const { issuerUrl, jwksUri, audience, defaultPermissions, enabled } = provider;
  return { issuerUrl, jwksUri, audience, defaultPermissions, enabled };
}
