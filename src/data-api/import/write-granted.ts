// Writes the staged rows of an import under grants, in parts by the same statements as records of a bulk request: first
// the rows of existing records, then those of new ones. A refusal names the row, or rejects it.
import { isDatabaseError } from '../../database/errors.ts';
import { ApiError, type Detail } from '../../errors.ts';
import { fieldType, parseStored } from '../../model/field-types.ts';
import type { Assignment } from '../../plan/assignment.ts';
import { type ImportPlan, updatesRecords } from '../../plan/import-plan.ts';
import { projectId } from '../../plan/projection.ts';
import { importQuery, indexStaging, rejectRow, selectRowsAfter } from '../../sql/import.ts';
import type { ExchangeDeps } from '../exchange.ts';
import { createRecords, type GrantedContext, updateRecords } from '../granted.ts';
import type { Checks } from './checks.ts';
import { formatReason } from './reader.ts';

// Rows of one statement, and the bytes of their values.
const PART = { maxRows: 1000, maxBytes: 4_194_304 };

export interface WriteRow {
  readonly inserted: string;
  readonly updated: string;
}

interface StagedRecord {
  readonly row: string;
  readonly line: string;
  readonly id: string | null;
  readonly bits: string;
  readonly values: string;
}

type GrantedChecks = Checks & { readonly context: GrantedContext };

/** Writes the rows of the plan. Throws 400 or 403 with the rows that are refused, or rejects them. */
export async function writeGrantedRows(deps: ExchangeDeps, checks: GrantedChecks): Promise<readonly WriteRow[]> {
  const { session, plan } = checks;
  await session.execute(indexStaging().text);
  const updated = updatesRecords(plan) ? await writeAll(deps, checks, true) : 0;
  const inserted = await writeAll(deps, checks, false);
  return [{ inserted: String(inserted), updated: String(updated) }];
}

async function writeAll(deps: ExchangeDeps, checks: GrantedChecks, hasId: boolean): Promise<number> {
  const { session, context, plan } = checks;
  let count = 0;
  for (let after = 0; ; ) {
    const query = importQuery(selectRowsAfter(plan, after, { ...PART, hasId }), context.principal);
    const rows = await session.query<StagedRecord>(query);
    const last = rows.at(-1);
    if (last === undefined) return count;
    after = Number(last.row);
    count += await writePart(deps, checks, rows, hasId);
  }
}

/** Writes the rows that are not rejected, and returns how many. */
async function writePart(
  deps: ExchangeDeps,
  checks: GrantedChecks,
  rows: readonly StagedRecord[],
  hasId: boolean,
): Promise<number> {
  const { session, plan } = checks;
  for (let rest = rows; ; ) {
    if (rest.length === 0) return 0;
    try {
      await writeRecords(deps, checks, rest, hasId);
      return rest.length;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isDatabaseError(error.cause)) throw error.cause;
      const refused = new Map<number, Detail[]>();
      for (const { index, ...detail } of error.details ?? [])
        if (index !== undefined) refused.set(index, [...(refused.get(index) ?? []), detail]);
      if (refused.size === 0) throw error;
      if (!plan.hasRejects) throw locate(error, refused, rest, checks.maxErrors);
      for (const [index, details] of refused)
        await session.execute(rejectRow(Number(rest[index]?.row), formatReason(details)).text);
      rest = rest.filter((_, index) => !refused.has(index));
    }
  }
}

/** Returns the error with the rows and lines of the records. */
function locate(
  error: ApiError,
  refused: ReadonlyMap<number, readonly Detail[]>,
  rows: readonly StagedRecord[],
  maxErrors: number,
): ApiError {
  const details = [...refused].flatMap(([index, each]) => {
    const { row, line } = rows[index] as StagedRecord;
    return each.map((detail) => ({ row: Number(row), line: Number(line), ...detail }));
  });
  return error.withDetails(details.sort((a, b) => a.row - b.row).slice(0, maxErrors));
}

async function writeRecords(
  deps: ExchangeDeps,
  { session, context, plan }: GrantedChecks,
  rows: readonly StagedRecord[],
  hasId: boolean,
): Promise<void> {
  const { executor } = session;
  // An import takes longer than a request may; the schema and the access are confirmed before its commit.
  const deadline = performance.now() + deps.config.transferTimeoutMs;
  const current: GrantedContext = {
    ...context,
    executor: {
      ...executor,
      run: (query, pool, { expected } = {}) => executor.run(query, pool, { expected, deadline }),
    },
  };
  const projection = projectId(context.entity);
  const items = rows.map((row) => readValues(row, plan, hasId));
  if (!hasId) await createRecords(deps, current, items, projection, true);
  else {
    const targets = rows.map(({ id }) => ({ id: id as string, name: id as string, version: undefined }));
    await updateRecords(deps, current, items, { targets, projection, isMany: true });
  }
}

/** Returns the values that the row gives, as bodies give them: without the id, and the key of an update. */
function readValues({ bits, values }: StagedRecord, { columns, matchOn }: ImportPlan, isUpdate: boolean): Assignment {
  const texts = JSON.parse(values) as readonly (string | null)[];
  const assignment = new Map<string, string | null>();
  for (const [index, field] of columns.entries()) {
    const isKey = field.role === 'id' || (isUpdate && matchOn?.includes(field) === true);
    if (isKey || bits[index] !== '1') continue;
    const text = texts[index] ?? null;
    // PostgreSQL prints times in another form than that in which grants compare them.
    const parsed = text === null || fieldType(field.type).json === 'any' ? undefined : parseStored(field, text);
    assignment.set(field.name, parsed?.ok === true ? parsed.value : text);
  }
  return assignment;
}
