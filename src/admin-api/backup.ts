// /backup and /restore: the data of a workspace or of the instance as a streamed file.

import type { Address, Backups, RestoreOutcome } from '../backup/backup.ts';
import { notAnAddress } from '../errors.ts';
import { Type } from '../schema/type.ts';
import { isSlug, requireWorkspace } from './access.ts';
import { MIGRATION_RUNS } from './describe.ts';
import { Slug } from './names.ts';
import type { Parameter } from './query.ts';
import { arrayShape, BYTES, data, Id, nullableShape, objectShape, respondBytes, respondData } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';

export interface BackupServices {
  readonly backups: Backups;
}

const RecordCount = nullableShape(Type.Number({ minimum: 0 }));
const RestoredShape = objectShape(
  {
    workspaces: arrayShape(
      objectShape(
        { id: Id, organization: Slug, slug: Slug, records: Type.Number({ minimum: 0 }) },
        { title: 'RestoredWorkspace' },
      ),
    ),
    leftOut: objectShape(
      { apiKeys: Type.Number(), oauthClients: Type.Number() },
      { description: 'How many keys and clients were left out, as another workspace has them.' },
    ),
    replaced: Type.Optional(
      objectShape(
        {
          id: Id,
          slug: Slug,
          entities: arrayShape(
            objectShape(
              { entity: Type.String(), before: RecordCount, after: RecordCount },
              { title: 'EntityComparison', description: 'Numbers of records; null where there is no such entity.' },
            ),
          ),
        },
        {
          title: 'ReplacedWorkspace',
          description: 'Only after `replace`: the workspace that was replaced, with the slug that it has now.',
        },
      ),
    ),
  },
  { title: 'Restored' },
);

const addressParameter = (name: string, description: string, example: string): Parameter<Address | undefined> => ({
  shape: Type.String({ description, examples: [example] }),
  read(text) {
    if (text === undefined) return undefined;
    const [organization = '', slug = '', ...rest] = text.split('/');
    if (!isSlug(organization) || !isSlug(slug) || rest.length > 0) throw notAnAddress(name, text);
    return { organization, slug };
  },
});

const AS = addressParameter(
  'as',
  'Name for the workspace of the file, organization/workspace; left out: the name that it had.',
  'acme/shop-2',
);
const REPLACE = addressParameter(
  'replace',
  'An existing workspace, organization/workspace, in whose place that of the file is restored. It keeps its keys, clients and identity provider; what it was is kept as another workspace, as `replaced` says.',
  'acme/shop',
);

const BUSY = 'the server or its database cannot answer at the moment, or others make backups';

export function backupRoutes(services: AdminServices & BackupServices): AdminRoute[] {
  const { backups } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'backups.readInstance',
      method: 'GET',
      path: '/backup',
      access: 'operator',
      summary: 'A backup of the whole instance',
      description:
        'Organizations and workspaces with their schemas, records, keys (as hashes), clients, identity providers and settings, as they were at one moment.',
      errors: { SERVICE_UNAVAILABLE: BUSY },
      responses: { 200: BYTES },
      handle: async ({ caller }) => respondBytes(await backups.open(null, caller), 'instance.wda'),
    }),
    route({
      id: 'backups.read',
      method: 'GET',
      path: `${WORKSPACE}/backup`,
      access: 'workspace',
      summary: 'A backup of a workspace',
      description: 'The same of one workspace.',
      errors: { SERVICE_UNAVAILABLE: BUSY },
      responses: { 200: BYTES },
      handle: async ({ workspace: { id, slug }, caller }) =>
        respondBytes(await backups.open(id, caller), `${slug}.wda`),
    }),
    route({
      id: 'backups.restore',
      method: 'POST',
      path: '/restore',
      access: 'operator',
      changes: 'named',
      activity: 'written',
      summary: 'Makes workspaces of a backup',
      description:
        'All of the file or nothing: its checksums are compared before anything can be seen. It replaces nothing, except for a workspace that `replace` names. The backup of an instance needs an empty one; an unchanged demo is replaced.',
      errors: {
        BAD_REQUEST:
          'the file is no backup, is damaged, or of a newer version; or a part of the query is not as described',
        VALIDATION_FAILED: 'the database lacks what the schema asks for, such as an extension',
        NOT_FOUND: 'there is no workspace that `replace` names',
        SCHEMA_MIGRATION_IN_PROGRESS: MIGRATION_RUNS,
        CONFLICT: 'the workspace exists already, the instance is not empty, or the database is at a limit',
        SERVICE_UNAVAILABLE: BUSY,
      },
      query: { as: AS, replace: REPLACE },
      uploads: true,
      responses: { 200: data(RestoredShape) },
      async handle({ principal, query, upload, caller, changed, audit }) {
        const { directory } = services.databases;
        const replaced = query.replace;
        const replace =
          replaced && (await requireWorkspace(directory, principal, replaced.organization, replaced.slug)).workspace;
        const { write } = await audit.prepare({ subject: 'backup' });
        const result = await backups.restore({
          source: upload(),
          signal: caller,
          as: query.as,
          replace,
          writeActivity: (session, outcome) => write(session, toAuditEntry(outcome)),
        });
        changed(...result.workspaces.map(({ id }) => id));
        if (replace !== undefined) changed(replace.id);
        return respondData(toResponse(result));
      },
    }),
  ];
}

function toAuditEntry({ workspaces, replaced }: RestoreOutcome) {
  const [first] = workspaces;
  if (first === undefined || workspaces.length > 1) return { details: { workspaces: workspaces.length } };
  const { organization, id, slug, records } = first;
  return {
    organization,
    workspace: { id, slug },
    subject: slug,
    details: { records, ...(replaced && { replaced: replaced.former.slug }) },
  };
}

const toResponse = ({ workspaces, leftOut, replaced }: RestoreOutcome) => ({
  workspaces: workspaces.map(({ id, organization, slug, records }) => ({
    id: Number(id),
    organization,
    slug,
    records,
  })),
  leftOut: { apiKeys: leftOut.apiKeys ?? 0, oauthClients: leftOut.oauthClients ?? 0 },
  ...(replaced && {
    replaced: { id: Number(replaced.former.id), slug: replaced.former.slug, entities: replaced.entities },
  }),
});
