// Publishes versions of a shared schema, one after the other.
import { validationFailed } from '../errors.ts';
import type { AuditContext } from '../store/activity.ts';
import type { Databases } from '../store/databases.ts';
import {
  findSharedSchemaVersion,
  insertSharedSchemaVersion,
  lockSharedSchema,
  type SharedSchemaVersion,
} from '../store/shared-schemas.ts';
import { schemaTooLong } from './errors.ts';
import { findExtensions } from './extensions.ts';
import { requireChanges } from './operations/record-changes.ts';
import { makeVersion, NO_VERSION } from './shared-versions.ts';

export type Publication = Pick<SharedSchemaVersion, 'version' | 'steps'> & { readonly isNew: boolean };

/**
 * Publishes a document as the next version of a shared schema, and writes its activity, unless it is a dry run; a document
 * equal to the newest version changes nothing. Returns undefined if the schema does not exist; throws 400 for a document that no workspace could
 * get.
 */
export function publishVersion(
  { directory, topology }: Databases,
  schemaId: string,
  body: unknown,
  audit: AuditContext | 'dryRun',
  maxDocumentBytes: number,
): Promise<Publication | undefined> {
  return directory.transaction(async (session) => {
    if (!(await lockSharedSchema(session, schemaId))) return undefined;
    const newest = await findSharedSchemaVersion(session, schemaId);
    const next = makeVersion(body, newest ?? NO_VERSION);
    if (!next.ok) throw validationFailed(next.details);
    const { document, identities } = next.version;
    const text = JSON.stringify(document);
    if (newest !== undefined && text === JSON.stringify(newest.document)) return { isNew: false, ...newest };
    if (Buffer.byteLength(text) > maxDocumentBytes) throw schemaTooLong(maxDocumentBytes);
    await findExtensions(session, document, newest?.document);
    for (const { kind, entity } of next.steps) if (kind === 'keepChanges') requireChanges(topology, entity);
    const { steps } = next;
    const version = (newest?.version ?? 0) + 1;
    if (audit === 'dryRun') return { isNew: false, version, steps };
    await insertSharedSchemaVersion(session, schemaId, { version, document, identities, steps }, audit.actor);
    await audit.write(session, { details: { version } });
    return { isNew: true, version, steps };
  });
}
