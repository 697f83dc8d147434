// Creates the operator's key and the demo workspace at the first start. Safe when several processes start at once, and
// when a process dies during the start.
import { randomBytes } from 'node:crypto';
import { hashCredential, makeKey } from '../auth/api-key.ts';
import { computeDigest, DEMO_DIGEST } from '../backup/demo-check.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/pool.ts';
import { createWorkspace, deleteWorkspace } from '../migrations/workspace.ts';
import type { Principal } from '../model/principal.ts';
import { getEntity, type Workspace } from '../model/workspace.ts';
import { planAssignment } from '../plan/assignment.ts';
import { planCreate } from '../plan/plan.ts';
import { parseSchemaDocument } from '../schema/document.ts';
import { bindQuery, compile } from '../sql/compile.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { createApiKey } from '../store/api-keys.ts';
import { deleteOperatorHash, loadOperatorHash, storeOperatorHash } from '../store/credentials.ts';
import type { Databases } from '../store/databases.ts';
import { loadFact, storeFact } from '../store/instance.ts';
import { loadWorkspace } from '../store/load-workspace.ts';
import { createOrganization, findOrganization } from '../store/organizations.ts';
import { findWorkspace } from '../store/workspaces.ts';
import { DEMO_RECORDS, DEMO_SCHEMA } from './demo.ts';

/** The content of the start screen; it has secrets only at the start that created them. */
export interface Welcome {
  readonly operatorHash: string | undefined;
  readonly operatorKey: string | undefined;
  readonly demoKey: string | undefined;
  /** Whether the demo workspace exists, from this start or an earlier one. */
  readonly hasDemo: boolean;
}

export interface BootstrapOptions {
  readonly databases: Databases;
  readonly config: Pick<Config, 'adminKey' | 'demo' | 'maxResponseBytes'>;
  /** Whether the operator's key is configured, so that none is generated. */
  readonly hasOperator: boolean;
  /** Secrets that earlier attempts of this start have created and not shown yet. Filled as they are created. */
  readonly secrets: Secrets;
}

export interface Secrets {
  operatorKey?: string;
  demoKey?: string;
}

const DEMO = { organization: 'demo', slug: 'shop' } as const;
const DEMO_LOCK = 7_764_610_002;

/** May be repeated with the same `secrets` when the database fails in between. */
export async function bootstrap({ databases, config, hasOperator, secrets }: BootstrapOptions): Promise<Welcome> {
  // A replaced key must not become valid again when the setting is removed.
  if (config.adminKey !== undefined) await deleteOperatorHash(databases.directory);
  const operator = hasOperator ? undefined : await ensureOperator(databases.directory, secrets);
  if (config.demo) await ensureDemo(databases, config.maxResponseBytes, secrets);
  const hasDemo = (await loadWorkspace(databases, DEMO.organization, DEMO.slug)) !== undefined;
  return { operatorHash: operator?.hash, operatorKey: operator?.key, demoKey: secrets.demoKey, hasDemo };
}

async function ensureOperator(
  db: Database,
  secrets: Secrets,
): Promise<{ readonly hash: string; readonly key: string | undefined }> {
  const computeHash = (key: string): string => hashCredential(key).toString('hex');
  let inForce = await loadOperatorHash(db);
  if (inForce === undefined) {
    secrets.operatorKey ??= `wda_admin_${randomBytes(32).toString('base64url')}`;
    inForce = await storeOperatorHash(db, computeHash(secrets.operatorKey));
  }
  const { operatorKey } = secrets;
  return {
    hash: inForce,
    key: operatorKey !== undefined && computeHash(operatorKey) === inForce ? operatorKey : undefined,
  };
}

/** Creates the demo once in the life of a database, and adds its API key to `secrets` if this call created it. */
function ensureDemo(databases: Databases, maxResponseBytes: number, secrets: Secrets): Promise<void> {
  const { directory } = databases;
  return directory.session(
    async (session) => {
      await session.query(toQuery(sql`select pg_advisory_lock(${DEMO_LOCK}::int8)`));
      try {
        const state = await loadFact(directory, 'demo');
        if (state === 'done') return;
        // A process that died while creating the demo has left an incomplete one; any other workspace of that name
        // belongs to a user.
        if (state === 'creating') await removeDemo(databases);
        else if ((await findOrganization(directory, DEMO.organization)) !== undefined) return;
        await storeFact(directory, 'demo', 'creating');
        secrets.demoKey = await createDemo(databases, maxResponseBytes);
        // With this digest a restore detects that the demo is unchanged.
        const digest = await computeDigest(directory, DEMO.organization, DEMO.slug);
        if (digest !== undefined) await storeFact(directory, DEMO_DIGEST, digest);
        await storeFact(directory, 'demo', 'done');
      } finally {
        await session.query(toQuery(sql`select pg_advisory_unlock(${DEMO_LOCK}::int8)`));
      }
    },
    { purpose: 'migration' },
  );
}

async function removeDemo(databases: Databases): Promise<void> {
  const workspace = await findWorkspace(databases.directory, DEMO.organization, DEMO.slug);
  if (workspace !== undefined) await deleteWorkspace(databases, workspace);
}

async function createDemo(databases: Databases, maxResponseBytes: number): Promise<string> {
  if ((await findOrganization(databases.directory, DEMO.organization)) === undefined) {
    await createOrganization(databases.directory, { slug: DEMO.organization, name: 'Demo' });
  }
  const parsed = parseSchemaDocument(DEMO_SCHEMA);
  if (!parsed.ok) throw new TypeError(`the demo's schema is wrong: ${JSON.stringify(parsed.details)}`);
  const summary = await createWorkspace(databases, { ...DEMO, name: 'Demo shop', document: parsed.document });
  const workspace = await loadWorkspace(databases, DEMO.organization, DEMO.slug);
  if (summary === undefined || workspace === undefined) throw new TypeError('the demo workspace was not created');
  await fillDemo(databases.forWorkspace(workspace), workspace, maxResponseBytes);
  const { key, prefix, hash } = makeKey();
  await createApiKey(databases.directory, {
    workspaceId: summary.id,
    name: 'Demo',
    prefix,
    hash,
    permissions: 'OWNER',
    grants: null,
    scope: null,
    expiresAt: null,
    createdBy: null,
  });
  return key;
}

/** Creates the records with the plans of ordinary requests. */
async function fillDemo(db: Database, workspace: Workspace, maxResponseBytes: number): Promise<void> {
  const principal: Principal = { kind: 'operator', scope: null, credentialId: 'operator' };
  for (const [name, records] of DEMO_RECORDS) {
    const entity = getEntity(workspace, name);
    for (const record of records) {
      const { values, details } = planAssignment(record, entity, undefined);
      if (details.length > 0) throw new TypeError(`a demo record of ${name} is wrong: ${JSON.stringify(details)}`);
      const statement = compile(planCreate(values, entity, { workspace, principal }), { maxResponseBytes });
      await db.run(bindQuery(statement, { body: values, principal }), 'write');
    }
  }
}
