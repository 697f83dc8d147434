// /access/report: what users of the identity provider may do with each entity, by their roles.
import { ENTITY_ACCESS, reportAccess } from '../model/access-report.ts';
import { Type } from '../schema/type.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import { findIdentityProvider } from '../store/identity-provider.ts';
import { makeWorkspace } from '../store/load-workspace.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import { arrayShape, data, enumShape, nullableShape, objectShape, respondData } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';

const OperationAccess = objectShape(
  {
    allowed: Type.Boolean(),
    records: arrayShape(
      Type.String({ description: 'Records in words, of which one must hold. None: all that the row rules allow.' }),
    ),
    fields: nullableShape(arrayShape(Type.String())),
  },
  { title: 'OperationAccess', description: '`fields`: those that are shown, or that a body may name; null: all.' },
);

const AccessReport = objectShape(
  {
    roles: arrayShape(Type.String()),
    permission: nullableShape(enumShape('READ_WRITE', 'READ_ONLY')),
    entities: arrayShape(
      objectShape(
        {
          entity: Type.String(),
          access: enumShape(...ENTITY_ACCESS),
          rowRules: arrayShape(Type.String({ description: 'In words; all of them hold, on top of grants.' })),
          grants: arrayShape(Type.String({ description: 'In words, in the order of the document.' })),
          roles: arrayShape(
            objectShape(
              {
                role: nullableShape(Type.String({ description: 'null: users without a role.' })),
                read: OperationAccess,
                create: OperationAccess,
                update: OperationAccess,
                delete: OperationAccess,
              },
              { title: 'RoleAccess' },
            ),
          ),
        },
        { title: 'EntityAccess' },
      ),
    ),
  },
  { title: 'AccessReport', description: '`permission`: that of all users; null without an identity provider.' },
);

export function accessReportRoutes(services: AdminServices): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'access.report',
      method: 'GET',
      path: `${WORKSPACE}/access/report`,
      access: 'workspace',
      summary: 'What users may do with each entity, by their roles',
      description:
        'For users with one role each, and for those without any (`role: null`); a user with several roles has the rights of each. Without an identity provider the rights that users would have.',
      errors: {},
      responses: { 200: data(AccessReport) },
      async handle({ workspace: { id } }) {
        const row = await requireValue(loadWorkspaceRow(databases.forWorkspace({ id }), id), workspaceDeleted);
        const provider = await findIdentityProvider(databases.directory, id);
        return respondData(reportAccess(makeWorkspace(row, provider ?? null), row.document.roles ?? []));
      },
    }),
  ];
}
