// Writes the staged rows of an import by one statement. What concurrent writes or PostgreSQL refuse is listed, or rejected.
import { inRolledBackSavepoint, inSavepoint } from '../../database/copy.ts';
import { getSqlState, isRetryable } from '../../database/errors.ts';
import type { ApiError } from '../../errors.ts';
import { isGranted } from '../../plan/granted.ts';
import { type ImportPlan, updatesRecords } from '../../plan/import-plan.ts';
import { toQuery } from '../../sql/fragment.ts';
import { countRejects, importQuery, indexStaging, rejectRow, writeStaged } from '../../sql/import.ts';
import type { ExchangeDeps } from '../exchange.ts';
import { isLimited } from '../granted.ts';
import { toRecordError } from '../record-error.ts';
import { type Checks, findLastingMistakes, match, rejectMistakes } from './checks.ts';
import { writeExchanged } from './exchange.ts';
import { formatReason, toImportError } from './reader.ts';
import { type WriteRow, writeGrantedRows } from './write-granted.ts';

export interface ImportCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly skipped: number;
  /** For an import with rejects. */
  readonly rejected?: number;
}

const WRITE_ATTEMPTS = 3;

/** Writes the checked rows; throws 400 or 409 for rows that a concurrent write, or PostgreSQL, refuses. */
export async function writeImport(deps: ExchangeDeps, checks: Checks, rows: number): Promise<ImportCounts> {
  const { session, context, plan, maxErrors } = checks;
  const writePart = makeWrite(deps, checks);
  const writeRows = () => writePart(plan);
  let isExchange = false;
  let refused = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      const [counts] = await inSavepoint(session, () =>
        isExchange ? writeExchanged(session, context, plan, writeRows) : writeRows(),
      );
      const inserted = Number(counts?.inserted);
      const updated = Number(counts?.updated);
      if (!plan.hasRejects) return { inserted, updated, skipped: rows - inserted - updated };
      const [{ count } = { count: '0' }] = await session.query<{ count: string }>(toQuery(countRejects()));
      const rejected = Number(count);
      return { inserted, updated, skipped: rows - inserted - updated - rejected, rejected };
    } catch (error) {
      // A concurrent write came between our checks and the write: the checks are repeated to find the row.
      const isRace = getSqlState(error) === '23505' || getSqlState(error) === '23503' || getSqlState(error) === '23502';
      // Without a mistake, rows take over unique values of each other.
      const mayExchange =
        getSqlState(error) === '23505' && updatesRecords(plan) && !isGranted(plan.scan.entity) && !isExchange;
      if (plan.hasRejects) {
        await match(checks);
        if ((await rejectMistakes(checks)) > 0) continue;
        if (mayExchange) {
          isExchange = true;
          continue;
        }
        const count = await rejectRefused(checks, rows, {
          cause: error,
          limit: MAX_REFUSED_ROWS - refused,
          write: writePart,
        });
        refused += count;
        if (count > 0) continue;
      }
      if (!isRace && !isRetryable(error)) throw error;
      if (!plan.hasRejects) {
        await match(checks);
        const mistakes = await findLastingMistakes(checks, true);
        if (mistakes.length > 0) throw toImportError(mistakes, maxErrors);
      }
      if (mayExchange) isExchange = true;
      if (attempt >= WRITE_ATTEMPTS) throw error;
    }
  }
}

/** Returns the function that writes the staged rows of a plan. */
function makeWrite(deps: ExchangeDeps, checks: Checks): (plan: ImportPlan) => Promise<readonly WriteRow[]> {
  const { session, context } = checks;
  if (isLimited(context)) return (plan) => writeGrantedRows(deps, { ...checks, context, plan });
  return (plan) => session.query<WriteRow>(importQuery(writeStaged(plan), context.principal));
}

// Rows that are searched one by one, each by some 20 writes that are undone: 0.2 s in a file of 100,000 rows. Beyond them
// the file is refused.
const MAX_REFUSED_ROWS = 100;

interface Refusal {
  /** Error of PostgreSQL. */
  readonly cause: unknown;
  readonly limit: number;
  readonly write: (plan: ImportPlan) => Promise<unknown>;
}

/**
 * Rejects at most `limit` rows that PostgreSQL refuses although no check finds a mistake in them: a value that a hidden
 * record has, or that is too long for its index. They are searched by halves. Returns how many; 0 for another error.
 */
async function rejectRefused(
  { session, context, plan }: Checks,
  rows: number,
  { cause, limit, write }: Refusal,
): Promise<number> {
  const { workspace, entity } = context;
  const toRefusal = (error: unknown): ApiError => toRecordError(error, workspace, entity.name, 'create');
  const state = getSqlState(cause);
  // Parts of a file lack the rows that others refer to.
  if (toRefusal(cause).details === undefined || state === '23503') return 0;
  await session.execute(indexStaging().text);
  let count = 0;
  const search = async (from: number, to: number): Promise<void> => {
    if (count >= limit) return;
    try {
      await inRolledBackSavepoint(session, async () => {
        await write({ ...plan, range: { from, to } });
      });
    } catch (error) {
      // A reference to a row of another part is no mistake.
      if (getSqlState(error) !== state) {
        if (toRefusal(error).details === undefined) throw error;
        return;
      }
      if (from === to) {
        await session.execute(rejectRow(from, formatReason(toRefusal(error).details ?? [])).text);
        count++;
        return;
      }
      const middle = Math.floor((from + to) / 2);
      await search(from, middle);
      await search(middle + 1, to);
    }
  };
  await search(1, rows);
  return count;
}
