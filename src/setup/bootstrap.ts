// What the first start leaves behind: the operator's key and the demo workspace. Safe when several processes start at
// once, and when a process dies in the middle.
import { randomBytes } from 'node:crypto';
import { hashCredential, makeKey } from '../auth/api-key.ts';
import { createApiKey } from '../catalog/api-keys.ts';
import { loadOperatorHash, storeOperatorHash } from '../catalog/credentials.ts';
import { loadFact, storeFact } from '../catalog/instance.ts';
import { loadWorkspace } from '../catalog/load-workspace.ts';
import { createOrganization, findOrganization } from '../catalog/organizations.ts';
import { findWorkspace } from '../catalog/workspaces.ts';
import type { Config } from '../config.ts';
import type { Database } from '../db/pool.ts';
import { createWorkspace, deleteWorkspace } from '../migrate/workspace.ts';
import type { Principal } from '../model/principal.ts';
import { parseSchemaDocument } from '../model/schema-document.ts';
import { entityOf, type Workspace } from '../model/workspace.ts';
import { planAssignment } from '../plan/assignment.ts';
import { planCreate } from '../plan/plan.ts';
import { bindQuery, compile } from '../sql/compile.ts';
import { sql, toQuery } from '../sql/fragment.ts';
import { DEMO_RECORDS, DEMO_SCHEMA } from './demo.ts';

/** What the start screen tells; secrets are here only at the start that made them. */
export interface Welcome {
  readonly operatorHash: string | undefined;
  readonly operatorKey: string | undefined;
  readonly demoKey: string | undefined;
  /** The demo workspace is there, from this start or an earlier one. */
  readonly hasDemo: boolean;
}

export interface BootstrapOptions {
  readonly db: Database;
  readonly config: Pick<Config, 'demo' | 'maxResponseBytes'>;
  /** The operator's key is set by configuration: none is generated. */
  readonly knownOperator: boolean;
}

const DEMO = { organization: 'demo', slug: 'shop' } as const;
const DEMO_LOCK = 7_764_610_002;

export async function bootstrap({ db, config, knownOperator }: BootstrapOptions): Promise<Welcome> {
  const operator = knownOperator ? undefined : await ensureOperator(db);
  const demoKey = config.demo ? await ensureDemo(db, config.maxResponseBytes) : undefined;
  const hasDemo = (await loadWorkspace(db, DEMO.organization, DEMO.slug)) !== undefined;
  return { operatorHash: operator?.hash, operatorKey: operator?.key, demoKey, hasDemo };
}

async function ensureOperator(db: Database): Promise<{ readonly hash: string; readonly key: string | undefined }> {
  const known = await loadOperatorHash(db);
  if (known !== undefined) return { hash: known, key: undefined };
  const key = `wda_admin_${randomBytes(32).toString('base64url')}`;
  const hash = hashCredential(key).toString('hex');
  const inForce = await storeOperatorHash(db, hash);
  return { hash: inForce, key: inForce === hash ? key : undefined };
}

/** Creates the demo once in the life of a database; gives its API key when this call did. */
function ensureDemo(db: Database, maxResponseBytes: number): Promise<string | undefined> {
  return db.session(async (session) => {
    await session.query(toQuery(sql`select pg_advisory_lock(${DEMO_LOCK}::int8)`));
    try {
      const state = await loadFact(db, 'demo');
      if (state === 'done') return undefined;
      // A process that died while it made the demo has left half of it; anything else of that name is somebody's own.
      if (state === 'creating') await removeDemo(db);
      else if ((await findOrganization(db, DEMO.organization)) !== undefined) return undefined;
      await storeFact(db, 'demo', 'creating');
      const key = await createDemo(db, maxResponseBytes);
      await storeFact(db, 'demo', 'done');
      return key;
    } finally {
      await session.query(toQuery(sql`select pg_advisory_unlock(${DEMO_LOCK}::int8)`));
    }
  });
}

async function removeDemo(db: Database): Promise<void> {
  const workspace = await findWorkspace(db, DEMO.organization, DEMO.slug);
  if (workspace !== undefined) await deleteWorkspace(db, workspace);
}

async function createDemo(db: Database, maxResponseBytes: number): Promise<string> {
  if ((await findOrganization(db, DEMO.organization)) === undefined) {
    await createOrganization(db, { slug: DEMO.organization, name: 'Demo' });
  }
  const parsed = parseSchemaDocument(DEMO_SCHEMA);
  if (!parsed.ok) throw new TypeError(`the demo's schema is wrong: ${JSON.stringify(parsed.details)}`);
  const summary = await createWorkspace(db, { ...DEMO, name: 'Demo shop', document: parsed.document });
  const workspace = await loadWorkspace(db, DEMO.organization, DEMO.slug);
  if (summary === undefined || workspace === undefined) throw new TypeError('the demo workspace was not created');
  await fillDemo(db, workspace, maxResponseBytes);
  const { key, prefix, hash } = makeKey();
  await createApiKey(db, {
    workspaceId: summary.id,
    name: 'Demo',
    prefix,
    hash,
    permissions: 'OWNER',
    expiresAt: null,
  });
  return key;
}

/** Records go the way of every create, so the demo shows what requests would have made. */
async function fillDemo(db: Database, workspace: Workspace, maxResponseBytes: number): Promise<void> {
  const principal: Principal = { kind: 'operator', credentialId: 'operator' };
  for (const [name, records] of DEMO_RECORDS) {
    const entity = entityOf(workspace, name);
    for (const record of records) {
      const { values, details } = planAssignment(record, entity, undefined);
      if (details.length > 0) throw new TypeError(`a demo record of ${name} is wrong: ${JSON.stringify(details)}`);
      const statement = compile(planCreate(values, entity, { workspace, principal }), { maxResponseBytes });
      await db.run(bindQuery(statement, { body: values, principal }), 'write');
    }
  }
}
