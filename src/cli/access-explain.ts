// `wda access explain`: what a token of the identity provider may do: each check that a request with it goes through,
// and the records of each entity that its user sees.
import { chosenWorkspace, connect, type GlobalOptions, workspacePath } from './connection.ts';
import { failed, usageFailure } from './failure.ts';
import { type Io, printResult, readInput } from './io.ts';
import { renderTable } from './table.ts';

export interface ExplainOptions extends GlobalOptions {
  readonly token?: string;
}

interface Explanation {
  readonly accepted: boolean;
  readonly permissions: 'READ_ONLY' | 'READ_WRITE' | null;
  readonly checks: readonly {
    readonly check: string;
    readonly passed: boolean | null;
    readonly message: string | null;
  }[];
  readonly entities: readonly { readonly entity: string; readonly filter: string }[];
}

/** `path` is a file with the token, `-` stdin. Fails, after it has printed why, when the token would be refused. */
export async function explainAccess(path: string | undefined, options: ExplainOptions): Promise<void> {
  const address = chosenWorkspace(options);
  const client = connect(options);
  const token = await readToken(options.io, path, options.token);
  const { data } = await client.send('POST', `${workspacePath(address)}/identity-provider/test`, { body: { token } });
  const explanation = data as Explanation;
  await printResult(options, data, () => describeExplanation(explanation));
  if (!explanation.accepted) {
    const message = explanation.checks.find(({ passed }) => passed === false)?.message;
    throw failed(`The token is refused: ${message ?? 'a check did not pass'}`);
  }
}

export function describeExplanation({ permissions, checks, entities }: Explanation): string {
  const told = checks.map(({ check, passed, message }) => [
    check,
    passed === null ? 'skipped' : passed ? 'pass' : 'fail',
    passed === null ? 'an earlier check failed' : message,
  ]);
  const may = { READ_ONLY: 'reads; writes are refused', READ_WRITE: 'reads and writes' } as const;
  const permission =
    permissions === null
      ? ['permission', 'skipped', 'an earlier check failed']
      : ['permission', 'pass', `${permissions}: ${may[permissions]}`];
  const parts = [renderTable(['CHECK', 'RESULT', 'REASON'], [...told, permission])];
  if (entities.length > 0) {
    const heading =
      permissions === null ? 'With its claims, if it were accepted, its user would see:' : 'Its user sees:';
    parts.push(
      heading,
      renderTable(
        ['ENTITY', 'RECORDS'],
        entities.map(({ entity, filter }) => [entity, filter]),
      ),
    );
  }
  return parts.join('\n\n');
}

/** A token, with or without the `Bearer` that people copy along. */
async function readToken(io: Io, path: string | undefined, given: string | undefined): Promise<string> {
  if (given !== undefined && path !== undefined) throw usageFailure('Give the token by --token or in a file, not both');
  const text = given ?? (await readSource(io, path));
  const token = text.trim().replace(/^(Authorization:\s*)?Bearer\s+/i, '');
  if (token === '') throw usageFailure('The token is empty');
  return token;
}

async function readSource(io: Io, path: string | undefined): Promise<string> {
  if (path === undefined && io.stdin.isTTY) {
    throw usageFailure('A token is needed', [
      'Pass a file that holds it, or pipe it in: wda access explain < token.txt',
    ]);
  }
  return readInput(io, path ?? '-');
}
