// The commands of `wda client` and `wda signing-key`: names, arguments, help.
import type { Command } from 'commander';

/** Adds both groups to the program. */
export function addOAuth(program: Command, examples: (command: Command, lines: readonly string[]) => void): void {
  const clients = program.command('client').description('OAuth clients of a workspace, for programs that take tokens');
  clients
    .command('create')
    .description('create a client; its secret is printed this once')
    .argument('<name>', 'what it is for')
    .option('--permissions <permissions>', 'OWNER (default), READ_WRITE or READ_ONLY (the last two: data only)')
    .option(
      '--entities <names>',
      'the only entities that it reaches, separated by commas; needs READ_WRITE or READ_ONLY',
    )
    .action(async (name, _own, command: Command) =>
      (await import('./oauth-client.ts')).createClient(name, command.optsWithGlobals()),
    );
  clients
    .command('list')
    .description('list the clients')
    .action(async (_own, command: Command) =>
      (await import('./oauth-client.ts')).listClients(command.optsWithGlobals()),
    );
  clients
    .command('delete')
    .description('delete a client; its tokens stop working within a second')
    .argument('<id>', 'client id, as client list shows it')
    .action(async (id, _own, command: Command) =>
      (await import('./oauth-client.ts')).deleteClient(id, command.optsWithGlobals()),
    );
  examples(clients, [
    'wda client create nightly-sync -w acme/shop',
    'wda client create nightly-export -w acme/shop --permissions read-only --entities orders,customers',
    'wda client list -w acme/shop',
    'wda client delete wdac_… -w acme/shop',
  ]);
  const keys = program
    .command('signing-key')
    .description('keys that sign the tokens of all OAuth clients (needs the operator key)');
  keys
    .command('list')
    .description('list the key that signs and those that still verify')
    .action(async (_own, command: Command) =>
      (await import('./oauth-client.ts')).listSigningKeys(command.optsWithGlobals()),
    );
  keys
    .command('rotate')
    .description('let a new key sign; tokens of the old one work until they expire')
    .option('--revoke', 'end all tokens signed so far: for a key that somebody else has seen')
    .action(async (_own, command: Command) =>
      (await import('./oauth-client.ts')).rotateSigningKey(command.optsWithGlobals()),
    );
  examples(keys, ['wda signing-key rotate', 'wda signing-key rotate --revoke']);
}
