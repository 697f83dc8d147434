// Backups and restores: all that a workspace or the instance has, as a file that is streamed.

import type { Address, Backups, Restored } from '../../backup/backup.ts';
import { Type } from '../../document/type.ts';
import { notAnAddress } from '../../errors.ts';
import { isSlug } from './access.ts';
import { Slug } from './names.ts';
import type { Parameter } from './query.ts';
import { BYTES, bytes, closed, data, Id, listOf, single } from './response.ts';
import { type AdminRoute, type AdminServices, routeMaker, WORKSPACE } from './route.ts';

export interface BackupServices {
  readonly backups: Backups;
}

const RestoredShape = closed(
  {
    workspaces: listOf(
      closed(
        { id: Id, organization: Slug, slug: Slug, records: Type.Number({ minimum: 0 }) },
        { title: 'RestoredWorkspace' },
      ),
    ),
    leftOut: closed(
      { apiKeys: Type.Number(), oauthClients: Type.Number() },
      { description: 'How many keys and clients were left out, as another workspace has them.' },
    ),
  },
  { title: 'Restored' },
);

const AS: Parameter<Address | undefined> = {
  shape: Type.String({
    description: 'Where the workspace of the file goes, if not to where it was: organization/workspace.',
    examples: ['acme/shop-2'],
  }),
  read(text) {
    if (text === undefined) return undefined;
    const [organization = '', slug = '', ...more] = text.split('/');
    if (!isSlug(organization) || !isSlug(slug) || more.length > 0) throw notAnAddress(text);
    return { organization, slug };
  },
};

const BUSY = 'the server or its database cannot answer at the moment, or others make backups';

export function backupRoutes(services: AdminServices & BackupServices): AdminRoute[] {
  const { backups } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'backups.readInstance',
      method: 'GET',
      path: '/backup',
      may: 'operator',
      summary: 'A backup of the whole instance',
      description:
        'Organizations and workspaces with their schemas, records, keys (as hashes), clients, identity providers and settings, as they were at one moment.',
      refuses: { SERVICE_UNAVAILABLE: BUSY },
      responses: { 200: BYTES },
      handle: async ({ caller }) => bytes(await backups.open(null, caller), 'instance.wda'),
    }),
    route({
      id: 'backups.read',
      method: 'GET',
      path: `${WORKSPACE}/backup`,
      may: 'workspace',
      summary: 'A backup of a workspace',
      description: 'The same of one workspace.',
      refuses: { SERVICE_UNAVAILABLE: BUSY },
      responses: { 200: BYTES },
      handle: async ({ workspace: { id, slug }, caller }) => bytes(await backups.open(id, caller), `${slug}.wda`),
    }),
    route({
      id: 'backups.restore',
      method: 'POST',
      path: '/restore',
      may: 'operator',
      changes: 'named',
      activity: 'written',
      summary: 'Makes workspaces of a backup',
      description:
        'All of the file or nothing: its checksums are compared before anything can be seen. It replaces nothing. The backup of an instance needs an empty one; a demo that nobody has changed makes room.',
      refuses: {
        BAD_REQUEST:
          'the file is no backup, is damaged, or of a newer version; or a part of the query is not as described',
        VALIDATION_FAILED: 'the database lacks what the schema asks for, such as an extension',
        CONFLICT: 'the workspace exists already, the instance is not empty, or the database is at a limit',
        SERVICE_UNAVAILABLE: BUSY,
      },
      query: { as: AS },
      uploads: true,
      responses: { 200: data(RestoredShape) },
      async handle({ query, upload, caller, changed, audit }) {
        const { write } = await audit.prepare({ subject: 'backup' });
        const restored = await backups.restore({
          source: upload(),
          caller,
          as: query.as,
          note: (session, done) => write(session, toldOf(done)),
        });
        changed(...restored.workspaces.map(({ id }) => id));
        return single(show(restored));
      },
    }),
  ];
}

function toldOf({ workspaces }: Restored) {
  const [first] = workspaces;
  if (first === undefined || workspaces.length > 1) return { details: { workspaces: workspaces.length } };
  const { organization, id, slug, records } = first;
  return { organization, workspace: { id, slug }, subject: slug, details: { records } };
}

const show = ({ workspaces, leftOut }: Restored) => ({
  workspaces: workspaces.map(({ id, ...rest }) => ({ id: Number(id), ...rest })),
  leftOut: { apiKeys: leftOut.apiKeys ?? 0, oauthClients: leftOut.oauthClients ?? 0 },
});
