// /identity-provider/test: why the identity provider of a workspace accepts or rejects a token, and what its user sees.
import { findRoles } from '../model/claim.ts';
import { explainAccess } from '../plan/explain.ts';
import { Type } from '../schema/type.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import { loadWorkspace } from '../store/load-workspace.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import { body } from './body.ts';
import { type IdentityProviderServices, Permissions } from './identity-provider.ts';
import { arrayShape, data, enumShape, nullableShape, objectShape, respondData } from './response.ts';
import { type AdminRoute, routeMaker, WORKSPACE } from './route.ts';

const TokenToTest = objectShape({ token: Type.String({ minLength: 1, maxLength: 65_536 }) }, { title: 'TokenToTest' });

const TokenExplanation = objectShape(
  {
    accepted: Type.Boolean(),
    permissions: nullableShape(Permissions),
    checks: arrayShape(
      objectShape({
        check: Type.String(),
        passed: nullableShape(Type.Boolean({ description: 'null: it could not be made.' })),
        message: nullableShape(Type.String()),
      }),
    ),
    claims: nullableShape(Type.Unsafe<object>({ type: 'object' })),
    roles: arrayShape(Type.String({ description: 'Roles of the schema document that the user has.' })),
    unknownRoles: arrayShape(Type.String({ description: 'Roles of the token that the document does not have.' })),
    entities: arrayShape(
      objectShape({
        entity: Type.String(),
        sees: enumShape('all', 'some', 'none'),
        filter: Type.String({ description: 'In words.' }),
        rules: arrayShape(
          objectShape({
            column: Type.String(),
            claim: Type.String(),
            value: nullableShape(Type.String()),
            reason: nullableShape(Type.String({ description: 'Why it matches no record.' })),
          }),
        ),
        grants: arrayShape(
          objectShape({
            grant: Type.String({ description: 'In words.' }),
            applies: Type.Boolean(),
            reason: nullableShape(Type.String({ description: 'Why it does not apply.' })),
          }),
        ),
      }),
    ),
  },
  { title: 'TokenExplained' },
);

export function tokenTestRoutes(services: IdentityProviderServices): AdminRoute[] {
  const { databases, identityProviders } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'identityProvider.test',
      method: 'POST',
      path: `${WORKSPACE}/identity-provider/test`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'none',
      summary: 'Takes a token through every check, and shows what its user sees',
      async find({ workspace: { organization, slug } }) {
        return requireValue(loadWorkspace(databases, organization, slug), workspaceDeleted);
      },
      description: 'Each check says whether it passed. Nothing is changed, and the token is not kept.',
      errors: {},
      body: body(TokenToTest),
      example: { token: 'eyJhbGciOiJFUzI1NiJ9.e30.AA' },
      responses: { 200: data(TokenExplanation) },
      async handle({ resource: snapshot, body: { token } }) {
        const { checks, claims, principal } = await identityProviders.externalTokens.explain(token.trim(), snapshot);
        const { id, identityProvider } = snapshot;
        const row = await requireValue(loadWorkspaceRow(databases.forWorkspace({ id }), id), workspaceDeleted);
        const declared = new Set(row.document.roles);
        const names = new Set(claims === null ? [] : findRoles(claims, identityProvider?.roleClaim ?? null));
        const roles = [...names].filter((name) => declared.has(name));
        return respondData({
          accepted: principal !== null,
          permissions: principal?.permissions ?? null,
          checks,
          claims,
          roles,
          unknownRoles: [...names].filter((name) => !declared.has(name)),
          entities: claims === null ? [] : explainAccess(snapshot, { claims, roles }),
        });
      },
    }),
  ];
}
