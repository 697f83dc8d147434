// Between the first byte of a file and its write the credential may be revoked and the schema changed. Under locks that
// keep the schema as it is, the plan is held against what is in force: it holds, is made anew, or the import ends.
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

/** Who imports, and by which plan. */
export interface PlannedImport {
  readonly context: EntityContext;
  readonly plan: ImportPlan;
}

export type Replan = (context: EntityContext) => ImportPlan;

// Changes of a workspace are rare; who meets three in a row comes again.
const ATTEMPTS = 3;

/**
 * The grounds as they are now, good until the end of the transaction but for access rules. Throws 401 and 403 when the
 * principal may no longer do this, 503 when the rows that are staged were decoded by another schema.
 */
export async function confirmPlan(
  session: Session,
  plannedImport: PlannedImport,
  replan: Replan,
): Promise<PlannedImport> {
  let { context, plan } = plannedImport;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    // A table that has another name by now: the version tells.
    await lock(session, plan);
    // A statement of its own, so that it sees what was committed while the locks were waited for.
    if ((await loadCurrentVersion(session, context.workspace.id)) === context.workspace.version)
      return { context, plan };
    context = await context.refresh();
    plan = replan(context);
    if (!isDeepStrictEqual(getDecodingInputs(plan), getDecodingInputs(plannedImport.plan))) throw schemaChanged();
  }
  throw schemaChanged();
}

/** Throws when anything by which the import was checked and written has changed since. To be asked before the commit. */
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

/** All that decides which text of a row is staged, and what is a mistake in it. Names in PostgreSQL do not. */
function getDecodingInputs({ columns, sparse, ids, onConflict, required, scan }: ImportPlan): unknown {
  const { fields, rowRules } = scan.entity;
  const rules = scan.filter.kind === 'rules' ? rowRules : [];
  return [
    [...fields.values()].map(toDocumentField),
    columns.map(toDocumentField),
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
