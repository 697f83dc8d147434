// Checks of staged rows as sets: against each other, and against the records that the principal can see. Their mistakes are
// listed, or the rows with them are rejected.

import type { Transaction } from '../../database/pool.ts';
import { type Detail, type DetailCode, shorten } from '../../errors.ts';
import { isGranted } from '../../plan/granted.ts';
import { type ImportPlan, isOwnReference } from '../../plan/import-plan.ts';
import { getReadable } from '../../plan/import-row.ts';
import type { Fragment } from '../../sql/fragment.ts';
import {
  findDuplicates,
  findExistingIds,
  findMissing,
  findMissingLookups,
  findMissingReferences,
  findOwnReferences,
  findUniqueConflicts,
  findUnknownIds,
  firstRows,
  importQuery,
  matchRecords,
  rejectRows,
  resolveLookups,
} from '../../sql/import.ts';
import type { EntityContext } from '../context.ts';

const MATCH_ATTEMPTS = 3;

/** Staged rows that are checked, and the mistakes that are listed of each check. */
export interface Checks {
  readonly session: Transaction;
  readonly context: EntityContext;
  readonly plan: ImportPlan;
  readonly maxErrors: number;
}

interface Check {
  /** Rows with the mistake, see firstRows(). */
  readonly rows: Fragment;
  readonly field: string;
  readonly code: DetailCode;
  /** `{other}` is the row with the same value. */
  readonly message: string;
  /** Whether rejecting other rows changes the outcome: it frees values, or takes away what is referred to. */
  readonly depends: 'nothing' | 'values' | 'references';
}

/** Looks references up, and matches rows with existing records if other fields than the id find them. */
export async function match({ session, context, plan }: Omit<Checks, 'maxErrors'>): Promise<void> {
  for (const lookup of resolveLookups(plan)) await session.query(importQuery(lookup, context.principal));
  if (plan.matchOn !== undefined) await session.query(importQuery(matchRecords(plan, plan.matchOn), context.principal));
}

/**
 * Finds mistakes, and repeats it while a duplicate may be of a record that was added after the matching. `isComplete`: all
 * rows are staged; else a row may refer to one that is not.
 */
export async function findLastingMistakes(checks: Checks, isComplete: boolean): Promise<Detail[]> {
  for (let attempt = 1; ; attempt++) {
    const mistakes = await findMistakes(checks, isComplete);
    const hasConflict = mistakes.some(({ code }) => code === 'NOT_UNIQUE');
    if (checks.plan.matchOn === undefined || !hasConflict || attempt === MATCH_ATTEMPTS) return mistakes;
    await match(checks);
  }
}

interface MistakeRow {
  readonly row: string;
  readonly line: string;
  readonly value: string | null;
  readonly other: string | null;
}

async function findMistakes({ session, context, plan, maxErrors }: Checks, isComplete: boolean): Promise<Detail[]> {
  const mistakes: Detail[] = [];
  // A grant may have set a value that the user may not read.
  const readable = getReadable(context.entity, context);
  for (const { rows, field, code, message, depends } of listChecks(plan)) {
    if (depends === 'references' && !isComplete) continue;
    const query = importQuery(firstRows(rows, maxErrors), context.principal);
    for (const { row, line, value, other } of await session.query<MistakeRow>(query)) {
      const place = { row: Number(row), line: Number(line) };
      const isShown = value !== null && field.split(', ').every((name) => readable.has(name));
      const cut = isShown ? { value: shorten(value, 100) } : {};
      mistakes.push({ ...place, field, code, message: message.replace('{other}', other ?? ''), ...cut });
    }
  }
  return mistakes;
}

function listChecks(plan: ImportPlan): readonly Check[] {
  const checks: Check[] = [];
  const add = (
    rows: Fragment,
    field: string,
    code: DetailCode,
    message: string,
    depends: Check['depends'] = 'nothing',
  ) => checks.push({ rows, field, code, message, depends });
  const duplicate = 'must be unique: row {other} has this value too';
  const id = plan.columns.filter((field) => field.role === 'id');
  const isById = plan.matchOn === undefined;
  if (plan.ids !== 'none' && isById) add(findDuplicates(plan, id), 'id', 'NOT_UNIQUE', duplicate, 'values');
  if (plan.ids === 'new' && plan.onConflict === 'fail')
    add(findExistingIds(plan), 'id', 'NOT_UNIQUE', 'must be unique: a record with this id exists');
  if (plan.ids === 'known' && isById)
    add(findUnknownIds(plan), 'id', 'READ_ONLY', 'is set by the server: no record has this id');
  for (const field of plan.required) {
    const key = (plan.matchOn ?? id).map(({ name }) => name).join(', ');
    add(findMissing(plan, field), field.name, 'REQUIRED', `is required: no record has this ${key || 'id'}`);
  }
  for (const fields of plan.uniques) {
    const name = fields.map((field) => field.name).join(', ');
    add(findDuplicates(plan, fields), name, 'NOT_UNIQUE', duplicate, 'values');
    const message = 'must be unique: another record has this value';
    // Values that the principal cannot read are compared by PostgreSQL alone.
    if (fields.every((field) => plan.scan.entity.fields.has(field.name)))
      add(findUniqueConflicts(plan, fields), name, 'NOT_UNIQUE', message);
  }
  for (const [index, { column, field, scan }] of plan.lookups.entries()) {
    const message = `refers to a record that does not exist: no record of ${scan.entity.name} has this ${field.name}`;
    add(findMissingLookups(plan, index), column.name, 'REFERENCE_NOT_FOUND', message);
  }
  // The writes under grants check references themselves, as those that a grant sets need not be readable.
  for (const reference of isGranted(plan.scan.entity) ? [] : plan.references) {
    const depends = isOwnReference(plan, reference) ? 'references' : 'nothing';
    const message = 'refers to a record that does not exist';
    add(findMissingReferences(plan, reference), reference.field.name, 'REFERENCE_NOT_FOUND', message, depends);
  }
  return checks;
}

// Rows that refer to a rejected row are rejected, too. Each round reads all rows (1.4 s for 200,000), and a file may be one
// long chain: after so many rounds all that refer to rows of the file are rejected.
const MAX_ROUNDS = 20;

/** Rejects matched rows with mistakes, of rows with one value all but the first. Returns how many. */
export async function rejectMistakes(checks: Checks): Promise<number> {
  const { session, context, plan } = checks;
  const reject = async ({ rows, field, message }: Pick<Check, 'rows' | 'field' | 'message'>): Promise<number> => {
    const query = importQuery(rejectRows(rows, `${field}: ${message}`), context.principal);
    const [result] = await session.query<{ count: string }>(query);
    return Number(result?.count);
  };
  const rejectAll = async (depends: Check['depends']): Promise<number> => {
    let count = 0;
    for (const check of listChecks(plan)) if (check.depends === depends) count += await reject(check);
    return count;
  };
  const rejectReferences = async (): Promise<number> => {
    let sum = 0;
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const count = await rejectAll('references');
      sum += count;
      if (count === 0) return sum;
    }
    for (const reference of plan.references.filter((one) => isOwnReference(plan, one))) {
      const message = 'refers to a row of the file, too many of which refer to rejected rows';
      sum += await reject({ rows: findOwnReferences(plan, reference), field: reference.field.name, message });
    }
    return sum;
  };
  const independent = await rejectAll('nothing');
  const referring = await rejectReferences();
  const duplicates = await rejectAll('values');
  return independent + referring + duplicates + (duplicates === 0 ? 0 : await rejectReferences());
}
