// /identity-provider: whose users may use a workspace, and why a token of theirs is accepted or not.
import Type from 'typebox';
import type { ExternalTokens } from '../../auth/external-token.ts';
import { inspectProvider, PRIVATE_WARNING } from '../../auth/inspect-provider.ts';
import {
  deleteIdentityProvider,
  findIdentityProvider,
  putIdentityProvider,
  updateIdentityProvider,
} from '../../catalog/identity-provider.ts';
import { loadWorkspace } from '../../catalog/load-workspace.ts';
import type { WorkspaceSummary } from '../../catalog/workspaces.ts';
import { type ApiError, notFound, validationFailed } from '../../errors.ts';
import type { Route, RouteRequest } from '../../http/routes.ts';
import type { Principal } from '../../model/principal.ts';
import type { IdentityProvider, Workspace } from '../../model/workspace.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import { explainRows } from '../../plan/explain.ts';
import { json, noContent, type Reply } from '../../response/reply.ts';
import {
  type AdminRooms,
  adminRoute,
  requireAdministrator,
  requireWorkspace,
  WORKSPACE,
  workspaceFor,
} from './access.ts';
import { bodyOf, single } from './exchange.ts';

export interface IdentityProviderRooms extends AdminRooms {
  readonly identityProviders: {
    readonly outbound: Outbound;
    readonly externalTokens: ExternalTokens;
    /** The issuer of our own tokens. */
    readonly publicUrl: string;
    /** Warnings that whoever configured the provider was not told. */
    readonly onWarning: (issuerUrl: string, warning: string) => void;
  };
}

const Url = Type.String({ minLength: 1, maxLength: 2048 });
const Blankable = Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 2048 });
const Permissions = Type.Unsafe<IdentityProvider['defaultPermissions']>({
  type: 'string',
  enum: ['READ_ONLY', 'READ_WRITE'],
});
const CLOSED = { additionalProperties: false };

const Configuration = Type.Object(
  {
    issuerUrl: Url,
    jwksUri: Type.Optional(Blankable),
    audience: Type.Optional(Blankable),
    defaultPermissions: Permissions,
    enabled: Type.Boolean(),
  },
  CLOSED,
);
const Change = Type.Object(
  {
    jwksUri: Type.Optional(Blankable),
    audience: Type.Optional(Blankable),
    defaultPermissions: Type.Optional(Permissions),
    enabled: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);
const TokenToTest = Type.Object({ token: Type.String({ minLength: 1, maxLength: 65_536 }) }, CLOSED);

export function identityProviderRoutes(rooms: IdentityProviderRooms): Route[] {
  const { db, announced } = rooms;
  const { outbound, externalTokens, publicUrl, onWarning } = rooms.identityProviders;
  const pattern = `${WORKSPACE}/identity-provider`;

  /** Throws 400 for URLs that no provider can have; gives what does not work at the moment, as the principal may know it. */
  async function inspect(
    source: Pick<IdentityProvider, 'issuerUrl' | 'jwksUri'>,
    { kind }: Principal,
  ): Promise<readonly string[]> {
    const { mistakes, warnings, isPrivate } = await inspectProvider(outbound, publicUrl, source);
    if (mistakes.length > 0) {
      throw validationFailed(mistakes.map(({ field, message }) => ({ field, code: 'INVALID', message })));
    }
    // An owner would have the server look for doors, and read what is behind them.
    if (!isPrivate || kind === 'operator' || warnings.length === 0) return warnings;
    for (const warning of warnings) onWarning(source.issuerUrl, warning);
    return [PRIVATE_WARNING];
  }

  async function put(id: string, request: RouteRequest, principal: Principal): Promise<Reply> {
    const { jwksUri, audience, ...given } = await bodyOf(request, Configuration);
    const provider = { ...given, jwksUri: filled(jwksUri) ?? null, audience: filled(audience) ?? null };
    const warnings = await inspect(provider, principal);
    const stored = await putIdentityProvider(db, id, provider);
    if (stored === undefined) throw notFound('The workspace does not exist any more');
    await announced(id);
    return answer(stored, warnings);
  }

  /** Without an issuer in it the body is a change of the provider that is there. */
  async function change(
    id: string,
    request: RouteRequest,
    principal: Principal,
    inForce: IdentityProvider,
  ): Promise<Reply> {
    const { jwksUri, audience, ...given } = await bodyOf(request, Change);
    const uri = filled(jwksUri);
    // Whoever switches a provider off need not wait for it.
    const warnings = uri === undefined ? [] : await inspect({ issuerUrl: inForce.issuerUrl, jwksUri: uri }, principal);
    const stored = await updateIdentityProvider(db, id, {
      ...given,
      ...(uri === undefined ? {} : { jwksUri: uri }),
      ...(audience === undefined ? {} : { audience: filled(audience) ?? null }),
    });
    if (stored === undefined) throw none();
    await announced(id);
    return answer(stored, warnings);
  }

  return [
    adminRoute('GET', pattern, [], async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      const provider = await findIdentityProvider(db, id);
      if (provider === undefined) throw none();
      return single(show(provider));
    }),
    adminRoute('PUT', pattern, [], async (request) => {
      const principal = await requireAdministrator(rooms, request);
      const { id } = await workspaceFor(principal, rooms, request);
      const body = await request.body();
      const whole = typeof body !== 'object' || body === null || Object.hasOwn(body, 'issuerUrl');
      const inForce = whole ? undefined : await findIdentityProvider(db, id);
      return inForce === undefined ? put(id, request, principal) : change(id, request, principal, inForce);
    }),
    adminRoute('DELETE', pattern, [], async (request) => {
      const { id } = await requireWorkspace(rooms, request);
      if (!(await deleteIdentityProvider(db, id))) throw none();
      await announced(id);
      return noContent();
    }),
    adminRoute('POST', `${pattern}/test`, [], async (request) => {
      const workspace = await snapshotOf(await requireWorkspace(rooms, request));
      const { token } = await bodyOf(request, TokenToTest);
      const { checks, claims, principal } = await externalTokens.explain(token.trim(), workspace);
      return single({
        accepted: principal !== null,
        permissions: principal?.permissions ?? null,
        checks,
        claims,
        entities: claims === null ? [] : explainRows(workspace.entities.values(), claims),
      });
    }),
  ];

  async function snapshotOf({ organization, slug }: WorkspaceSummary): Promise<Workspace> {
    const workspace = await loadWorkspace(db, organization, slug);
    if (workspace === undefined) throw notFound('The workspace does not exist any more');
    return workspace;
  }
}

/** Blank is null; what is not given stays undefined. */
function filled(text: string | null | undefined): string | null | undefined {
  return text?.trim() === '' ? null : text;
}

const none = (): ApiError => notFound('The workspace has no identity provider');

const NO_AUDIENCE =
  'audience is blank: tokens that the provider issued for any other application are accepted here, too';

/** Warnings are in `meta`; `data` is the same as a GET's. */
function answer(provider: IdentityProvider, found: readonly string[]): Reply {
  const warnings = provider.audience === null ? [...found, NO_AUDIENCE] : found;
  return json(200, { data: show(provider), ...(warnings.length === 0 ? {} : { meta: { warnings } }) });
}

function show({ issuerUrl, jwksUri, audience, defaultPermissions, enabled }: IdentityProvider): IdentityProvider {
  return { issuerUrl, jwksUri, audience, defaultPermissions, enabled };
}
