// The table of reasons on the page of errors: `npm run generate` writes it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REASONS, STATUS_BY_REASON } from '../../src/error-codes.ts';
import { ERROR_CODES, type ErrorCode, type Reason } from '../../src/errors.ts';

export const ERRORS_PAGE = join(import.meta.dirname, '../../docs/reference/errors.md');

const BEGIN = '<!-- reasons: written by test/support/error-reasons.ts -->';
const END = '<!-- end of reasons -->';

/** The page with the table as it must be. */
export function withReasons(page: string): string {
  const [before, rest] = page.split(BEGIN) as [string, string | undefined];
  if (rest === undefined || !rest.includes(END)) throw new Error('the page of errors has no place for the reasons');
  const rows = Object.entries(REASONS).flatMap(([code, reasons]) =>
    Object.entries(reasons).map(
      ([reason, when]) => `| \`${reason}\` | ${status(code, reason)} | \`${code}\` | ${when} |`,
    ),
  );
  const table = ['| Reason | Status | Code | When |', '|---|---|---|---|', ...rows].join('\n');
  return `${before}${BEGIN}\n\n${table}\n\n${rest.slice(rest.indexOf(END))}`;
}

const status = (code: string, reason: string): number =>
  STATUS_BY_REASON[reason as Reason] ?? ERROR_CODES[code as ErrorCode];

if (import.meta.main) writeFileSync(ERRORS_PAGE, withReasons(readFileSync(ERRORS_PAGE, 'utf8')));
