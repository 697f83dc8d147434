// Confirms an import before its write and its commit, as the credential may be revoked and the schema changed
// meanwhile. Under locks that prevent changes of the schema, the plan is compared with the current one: it is kept,
// replaced, or the import ends.
import { isDeepStrictEqual } from 'node:util';
import { inSavepoint } from '../../database/copy.ts';
import { isStaleSnapshot } from '../../database/errors.ts';
import type { Session } from '../../database/pool.ts';
import { type ApiError, serviceUnavailable } from '../../errors.ts';
import type { Field } from '../../model/entity.ts';
import type { ImportPlan } from '../../plan/import-plan.ts';
import { lockTables } from '../../sql/import.ts';
import { loadCurrentVersion } from '../../store/load-workspace.ts';
import type { EntityContext } from '../context.ts';

/** An import's context and plan. */
export interface PlannedImport {
  readonly context: EntityContext;
  readonly plan: ImportPlan;
}

export type Replan = (context: EntityContext) => ImportPlan;

// Changes of a workspace are rare; after three in a row the client has to try again.
const ATTEMPTS = 3;

/**
 * Returns the current context and plan, valid until the end of the transaction except for access rules. Throws 401 and
 * 403 when the principal has lost its permission, 503 when the staged rows were decoded by another schema.
 */
export async function confirmPlan(
  session: Session,
  plannedImport: PlannedImport,
  replan: Replan,
): Promise<PlannedImport> {
  let { context, plan } = plannedImport;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    // A renamed table is detected by the version.
    await lock(session, plan);
    // A separate statement, so that it sees changes that were committed during the wait for the locks.
    if ((await loadCurrentVersion(session, context.workspace.id)) === context.workspace.version)
      return { context, plan };
    context = await context.refresh();
    plan = replan(context);
    if (!isDeepStrictEqual(getDecodingInputs(plan), getDecodingInputs(plannedImport.plan))) throw schemaChanged();
  }
  throw schemaChanged();
}

/** Throws when the basis of the checks and writes of the import has changed. Called before the commit. */
export async function confirmAccess(session: Session, { context, plan }: PlannedImport, replan: Replan): Promise<void> {
  if ((await loadCurrentVersion(session, context.workspace.id)) === context.workspace.version) return;
  if (!isDeepStrictEqual(replan(await context.refresh()), plan)) throw schemaChanged();
}

async function lock(session: Session, plan: ImportPlan): Promise<void> {
  try {
    await inSavepoint(session, async () => {
      for (const statement of lockTables(plan)) await session.execute(statement.text);
    });
  } catch (error) {
    if (!isStaleSnapshot(error)) throw error;
  }
}

/** Returns the parts of a plan that determine how rows are decoded and checked. Names in PostgreSQL do not. */
function getDecodingInputs({ columns, lookups, sparse, ids, onConflict, required, scan }: ImportPlan): unknown {
  const { access, fields, rowRules } = scan.entity;
  const rules = scan.filter.kind === 'rules' ? rowRules : [];
  return [
    [...(access?.writable ?? fields).values()].map(toDocumentField),
    columns.map(toDocumentField),
    lookups.map(({ column, field }) => [column.name, toDocumentField(field)]),
    required.map(toDocumentField),
    rules,
    sparse,
    ids,
    onConflict,
  ];
}

function toDocumentField({
  column: _column,
  indexed: _indexed,
  hasPartsIndex: _hasPartsIndex,
  description: _description,
  ...rest
}: Field): unknown {
  return rest;
}

function schemaChanged(): ApiError {
  return serviceUnavailable(
    'SCHEMA_CHANGING',
    'The schema or who may see what changed while the file came in; nothing was imported, retry',
  );
}
