// `wda access`: shows and tests access of users of the identity provider. `explain` runs a token through each check of a
// request, `test` runs a file of access tests (access-test.ts), `report` and `grants` are in access-report.ts.
import type { Command } from 'commander';
import type { TokenExplained } from '../../../admin-types/admin-api.d.ts';
import { registerReport } from '../access-report.ts';
import { testAccess } from '../access-test.ts';
import { action, connect, examples, type GlobalOptions, requireWorkspace, workspacePath } from '../command.ts';
import { runtimeFailure, usageFailure } from '../failure.ts';
import { type Io, printResult, readInput } from '../io.ts';
import { printable, renderTable } from '../table.ts';

export function register(program: Command): void {
  const group = program.command('access').description('what users of the identity provider may see and do');
  const explaining = group
    .command('explain')
    .description('take a token through every check, and show the records that its user sees')
    .argument('[file]', 'holds the token; - or nothing is stdin')
    .option('--token <token>', 'the token itself (better in a file: a command line can be seen in the process list)')
    .action(action(explainAccess));
  examples(explaining, ['wda access explain token.txt -w acme/shop', 'get-token | wda access explain -w acme/shop']);
  const testing = group
    .command('test')
    .description(
      'run a file of "with these claims, these records and fields are visible, and these writes are allowed"',
    )
    .argument('<file>', 'YAML or JSON; - is stdin')
    .option(
      '--rules <file>',
      'row rules by entity, or {rules, grants, roles}, YAML or JSON, to try in place of those in force',
    )
    .action(action(testAccess));
  examples(testing, [
    'wda access test access.yaml -w acme/shop   # exit code 1 at the first leak',
    'wda access test access.yaml -w acme/shop --rules new-rules.yaml',
  ]);
  registerReport(group);
  examples(group, ['wda access explain token.txt -w acme/shop', 'wda access test access.yaml -w acme/shop']);
}

interface ExplainOptions extends GlobalOptions {
  readonly token?: string;
}

/** Explains a token from the file `path` (`-` is stdin). Prints why a token would be rejected, then fails. */
export async function explainAccess(path: string | undefined, options: ExplainOptions): Promise<void> {
  const address = requireWorkspace(options);
  const client = connect(options);
  const token = await readToken(options.io, path, options.token);
  const { data } = await client.send<TokenExplained>('POST', `${workspacePath(address)}/identity-provider/test`, {
    body: { token },
  });
  await printResult(options, data, () => describeExplanation(data));
  if (!data.accepted) {
    const message = data.checks.find(({ passed }) => passed === false)?.message;
    throw runtimeFailure(`The token is refused: ${message ?? 'a check did not pass'}`);
  }
}

function describeExplanation({ permissions, checks, entities, roles, unknownRoles }: TokenExplained): string {
  const rows = checks.map(({ check, passed, message }) => [
    check,
    passed === null ? 'skipped' : passed ? 'pass' : 'fail',
    passed === null ? 'an earlier check failed' : message,
  ]);
  const may = { READ_ONLY: 'reads; writes are refused', READ_WRITE: 'reads and writes' } as const;
  const permission =
    permissions === null
      ? ['permission', 'skipped', 'an earlier check failed']
      : ['permission', 'pass', `${permissions}: ${may[permissions]}`];
  const parts = [renderTable(['CHECK', 'RESULT', 'REASON'], [...rows, permission])];
  const unknown = unknownRoles.length === 0 ? '' : `; unknown here: ${unknownRoles.map(printable).join(', ')}`;
  if (roles.length + unknownRoles.length > 0)
    parts.push(`Roles: ${roles.map(printable).join(', ') || 'none'}${unknown}`);
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
  const grants = entities.flatMap(({ entity, grants: all }) =>
    all.map(({ grant, reason }) => [entity, reason === null ? 'yes' : `no: ${reason}`, grant]),
  );
  if (grants.length > 0) parts.push('Grants:', renderTable(['ENTITY', 'APPLIES', 'GRANT'], grants));
  return parts.join('\n\n');
}

/** Reads a token, with or without the `Bearer` that people copy with it. */
async function readToken(io: Io, path: string | undefined, tokenOption: string | undefined): Promise<string> {
  if (tokenOption !== undefined && path !== undefined)
    throw usageFailure('Give the token by --token or in a file, not both');
  const text = tokenOption ?? (await readSource(io, path));
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
