// /access/report: what users of the identity provider may do with each entity, by their roles.
import { setImmediate } from 'node:timers/promises';
import { reportTooLarge, unknownEntity } from '../errors.ts';
import { ENTITY_ACCESS, reportAccess } from '../model/access-report.ts';
import { closest } from '../model/closest.ts';
import { member } from '../schema/renames.ts';
import { Type } from '../schema/type.ts';
import { loadWorkspaceRow } from '../store/documents.ts';
import { findIdentityProvider } from '../store/identity-provider.ts';
import { makeWorkspace } from '../store/load-workspace.ts';
import { requireValue, workspaceDeleted } from './access.ts';
import type { AccessTestServices } from './access-test.ts';
import { textParameter } from './query.ts';
import { arrayShape, data, enumShape, nullableShape, objectShape, respondText } from './response.ts';
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
                history: Type.Optional(OperationAccess),
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

export function accessReportRoutes(
  services: AdminServices & Pick<AccessTestServices, 'maxResponseBytes'>,
): AdminRoute[] {
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
      errors: { BAD_REQUEST: 'the report is larger than a response may be' },
      query: { entity: textParameter('Of this entity alone.', 'orders') },
      responses: { 200: data(AccessReport) },
      async handle({ workspace: { id }, query: { entity: name } }) {
        const row = await requireValue(loadWorkspaceRow(databases.forWorkspace({ id }), id), workspaceDeleted);
        const provider = await findIdentityProvider(databases.directory, id);
        const { entities: documents, roles: declared = [] } = row.document;
        if (name !== undefined && member(documents, name) === undefined)
          throw unknownEntity(name, closest(name, Object.keys(documents)), Object.keys(documents));
        const report = reportAccess(makeWorkspace(row, provider ?? null), declared, name);
        const { roles, permission } = report;
        const entities: string[] = [];
        let bytes = 0;
        for (const entity of report.entities) {
          const text = JSON.stringify(entity);
          bytes += text.length;
          if (bytes > services.maxResponseBytes) throw reportTooLarge(services.maxResponseBytes);
          entities.push(text);
          await setImmediate();
        }
        const head = `"roles":${JSON.stringify(roles)},"permission":${JSON.stringify(permission)}`;
        return respondText(`{"data":{${head},"entities":[${entities.join()}]}}`);
      },
    }),
  ];
}
