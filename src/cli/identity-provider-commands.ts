// The commands of `wda idp`: names, arguments, help.
import type { Command } from 'commander';

/** Adds the group to the program. */
export function addIdentityProvider(
  program: Command,
  examples: (command: Command, lines: readonly string[]) => void,
): void {
  const group = program.command('idp').description('the identity provider whose users may use a workspace');
  group
    .command('show')
    .description('show the provider in force')
    .action(async (_own, command: Command) =>
      (await import('./identity-provider.ts')).showProvider(command.optsWithGlobals()),
    );
  const setting = group
    .command('set')
    .description('configure the provider: whole with --issuer, else what is named; in force within a second')
    .option('--issuer <url>', 'issuer URL, equal to the iss of the tokens to the letter')
    .option('--jwks-uri <url>', 'where its keys are; "" (default): discovered from the issuer')
    .option('--audience <audience>', 'what aud must contain; "" (default): anything')
    .option('--permissions <permissions>', 'READ_ONLY or READ_WRITE, for all of its users')
    .option('--enable', 'accept its tokens (default with --issuer)')
    .option('--disable', 'refuse its tokens')
    .action(async (_own, command: Command) =>
      (await import('./identity-provider.ts')).setProvider(command.optsWithGlobals()),
    );
  examples(setting, [
    'wda idp set -w acme/shop --issuer https://login.example.com/ --audience https://api.example.com --permissions read-only',
    'wda idp set -w acme/shop --permissions read-write',
    'wda idp set -w acme/shop --disable',
  ]);
  group
    .command('delete')
    .description('delete the provider; its tokens stop working within a second')
    .action(async (_own, command: Command) =>
      (await import('./identity-provider.ts')).deleteProvider(command.optsWithGlobals()),
    );
  group
    .command('test')
    .description('the same as access explain: take a token through every check')
    .argument('[file]', 'holds the token; - or nothing is stdin')
    .action(async (file, _own, command: Command) =>
      (await import('./access-explain.ts')).explainAccess(file, command.optsWithGlobals()),
    );
  examples(group, [
    'wda idp show -w acme/shop',
    'wda idp set -w acme/shop --issuer https://login.example.com/ --permissions read-only',
    'wda idp test token.txt -w acme/shop',
    'wda idp delete -w acme/shop',
  ]);
}
