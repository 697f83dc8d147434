// `wda idp`: manages the identity provider whose users may use a workspace.
import type { Command } from 'commander';
import type { IdentityProvider } from '../../../admin-types/admin-api.d.ts';
import { parseExact } from '../../model/exact-json.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  printWarnings,
  requireWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { renderPairs } from '../table.ts';
import { explainAccess } from './access.ts';
import { parsePermissions } from './credentials.ts';

const USER_PERMISSIONS = ['READ_ONLY', 'READ_WRITE'] as const;

export function register(program: Command): void {
  const group = program.command('idp').description('the identity provider whose users may use a workspace');
  group.command('show').description('show the provider in force').action(action(show));
  const setting = group
    .command('set')
    .description(
      'configure the provider: all of it with --issuer, else the given options; in force when the command ends',
    )
    .option('--issuer <url>', 'issuer URL, equal to the iss of the tokens to the letter')
    .option('--jwks-uri <url>', 'where its keys are; "" (default): discovered from the issuer')
    .option('--audience <audience>', 'what aud must contain; "" (default): anything')
    .option('--role-claim <claim>', 'claim with the roles of a user, by name or dotted path; "" (default): no roles')
    .option(
      '--required-claim <claim=value...>',
      'a claim that a token must carry, with its value: JSON, else text; "" (default): none',
    )
    .option('--permissions <permissions>', 'READ_ONLY or READ_WRITE, for all of its users')
    .option('--enable', 'accept its tokens (default with --issuer)')
    .option('--disable', 'refuse its tokens')
    .action(action(set));
  examples(setting, [
    'wda idp set -w acme/shop --issuer https://login.example.com/ --audience https://api.example.com --permissions read-only',
    'wda idp set -w acme/shop --permissions read-write',
    'wda idp set -w acme/shop --required-claim org_id=acme',
    'wda idp set -w acme/shop --disable',
  ]);
  group
    .command('delete')
    .description('delete the provider; its tokens stop working within a second')
    .action(action(remove));
  group
    .command('test')
    .description('the same as access explain: take a token through every check')
    .argument('[file]', 'holds the token; - or nothing is stdin')
    .action(action(explainAccess));
  examples(group, [
    'wda idp show -w acme/shop',
    'wda idp set -w acme/shop --issuer https://login.example.com/ --permissions read-only',
    'wda idp test token.txt -w acme/shop',
    'wda idp delete -w acme/shop',
  ]);
}

async function show(options: GlobalOptions): Promise<void> {
  await print(options, (await connect(options).send<IdentityProvider>('GET', providerPath(options))).data);
}

interface ProviderOptions extends GlobalOptions {
  readonly issuer?: string;
  readonly jwksUri?: string;
  readonly audience?: string;
  readonly roleClaim?: string;
  readonly requiredClaim?: readonly string[];
  readonly permissions?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

/** Replaces the configuration (enabled by default) with an issuer, or changes single options without one. */
async function set(options: ProviderOptions): Promise<void> {
  const { issuer, jwksUri, audience, roleClaim, requiredClaim, enable, disable } = options;
  if (enable && disable) throw usageFailure('--enable and --disable exclude each other');
  const permissions =
    options.permissions === undefined ? undefined : parsePermissions(options.permissions, USER_PERMISSIONS);
  if (issuer !== undefined && permissions === undefined) {
    throw usageFailure('A provider needs permissions for its users', ['Pass --permissions READ_ONLY or READ_WRITE.']);
  }
  const enabled = enable || disable ? !disable : issuer === undefined ? undefined : true;
  const body = {
    ...(issuer === undefined ? {} : { issuerUrl: issuer }),
    ...(jwksUri === undefined ? {} : { jwksUri }),
    ...(audience === undefined ? {} : { audience }),
    ...(roleClaim === undefined ? {} : { roleClaim }),
    ...(requiredClaim === undefined ? {} : { requiredClaims: parseRequiredClaims(requiredClaim) }),
    ...(permissions === undefined ? {} : { defaultPermissions: permissions }),
    ...(enabled === undefined ? {} : { enabled }),
  };
  if (Object.keys(body).length === 0) {
    throw usageFailure('Nothing to set', [
      'Pass --issuer, --jwks-uri, --audience, --role-claim, --required-claim, --permissions, --enable or --disable.',
    ]);
  }
  const response = await connect(options).send<IdentityProvider>('PUT', providerPath(options), { body });
  printWarnings(options.io, response);
  await print(options, response.data);
}

/** Parses `name=value` texts; a value that is no JSON is text. Empty texts name no claim. */
function parseRequiredClaims(texts: readonly string[]): Readonly<Record<string, unknown>> {
  const entries = texts
    .filter((text) => text !== '')
    .map((text) => {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
      if (name === undefined || value === undefined)
        throw usageFailure(`--required-claim must be <claim>=<value>, is ${JSON.stringify(text)}`);
      return [name, parseValue(value)] as const;
    });
  const repeated = entries.find(([name], index) => entries.findIndex(([other]) => other === name) !== index);
  if (repeated !== undefined) throw usageFailure(`--required-claim names ${repeated[0]} twice`);
  return Object.fromEntries(entries);
}

function parseValue(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

async function remove(options: GlobalOptions): Promise<void> {
  const name = workspaceName(requireWorkspace(options));
  await connect(options).send('DELETE', providerPath(options));
  await printResult(options, { deleted: name }, () => `Deleted the identity provider of ${name}`);
}

function print(options: GlobalOptions, provider: IdentityProvider): Promise<void> {
  const { issuerUrl, jwksUri, audience, roleClaim, requiredClaims, defaultPermissions, enabled } = provider;
  return printResult(options, provider, () =>
    renderPairs([
      ['Issuer URL', issuerUrl],
      ['JWKS URI', jwksUri ?? '(discovered)'],
      ['Audience', audience ?? '(any)'],
      ...(roleClaim === undefined ? [] : [['Role claim', roleClaim] as const]),
      ...(requiredClaims === undefined ? [] : [['Required claims', JSON.stringify(requiredClaims)] as const]),
      ['Permissions', defaultPermissions],
      ['Enabled', enabled ? 'yes' : 'no'],
    ]),
  );
}

const providerPath = (options: GlobalOptions): string =>
  `${workspacePath(requireWorkspace(options))}/identity-provider`;
