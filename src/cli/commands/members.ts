// `wda members`: people who may use the console, of a workspace or, with --organization, of an organization.
import type { Command } from 'commander';
import type { Member } from '../../../admin-types/admin-api.d.ts';
import {
  action,
  connect,
  examples,
  type GlobalOptions,
  isSlug,
  organizationPath,
  printList,
  requireWorkspace,
  workspaceName,
  workspacePath,
} from '../command.ts';
import { usageFailure } from '../failure.ts';
import { printResult } from '../io.ts';
import { renderPairs } from '../table.ts';

type MemberOptions = GlobalOptions & { readonly organization?: string };

export function register(program: Command): void {
  const group = program.command('members').description('people who may use the console: members and invitations');
  const add = (command: Command): Command =>
    command.option('--organization <slug>', 'of this organization, with all of its workspaces, instead of -w');
  const adding = add(
    group
      .command('add')
      .description('add a member; a mail address waits for the first sign-in')
      .argument('[email]', 'mail address, which the OpenID provider must have verified'),
  )
    .option('--claim <value>', 'everybody whose claim for roles has this value, instead of a mail address')
    .requiredOption('--role <role>', 'owner, editor or viewer')
    .action(action(addMember));
  examples(adding, [
    'wda members add ada@example.com --role editor -w acme/shop',
    'wda members add --claim support --role viewer -w acme/shop',
    'wda members add grace@example.com --role owner --organization acme',
  ]);
  add(group.command('list').description('list members and invitations')).action(action(listMembers));
  add(
    group.command('update').description('give a member another role').argument('<id>', 'id, as members list shows it'),
  )
    .requiredOption('--role <role>', 'owner, editor or viewer')
    .action(action(updateMember));
  add(
    group
      .command('remove')
      .description('remove a member; the next request is refused')
      .argument('<id>', 'id, as members list shows it'),
  ).action(action(removeMember));
  examples(group, [
    'wda members add ada@example.com --role editor -w acme/shop',
    'wda members list -w acme/shop',
    'wda members update 3 --role viewer -w acme/shop',
    'wda members remove 3 --organization acme',
  ]);
}

/** Returns path and name of the place whose members are meant. */
function findPlace(options: MemberOptions): { readonly path: string; readonly name: string } {
  const { organization } = options;
  if (organization === undefined) {
    const address = requireWorkspace(options);
    return { path: `${workspacePath(address)}/members`, name: workspaceName(address) };
  }
  if (!isSlug(organization)) throw usageFailure(`--organization must be a slug such as acme, not ${organization}`);
  return { path: `${organizationPath(organization)}/members`, name: organization };
}

async function addMember(
  email: string | undefined,
  options: MemberOptions & { readonly claim?: string; readonly role: string },
): Promise<void> {
  const { claim, role } = options;
  if ((email === undefined) === (claim === undefined)) throw usageFailure('Give either a mail address or --claim');
  const { path } = findPlace(options);
  const body = { ...(email === undefined ? { claim } : { email }), role };
  const { data } = await connect(options).send<Member>('POST', path, { body });
  await printMember(options, data);
}

async function listMembers(options: MemberOptions): Promise<void> {
  const { path, name } = findPlace(options);
  const members = await connect(options).readAll<Member>(path);
  const head = ['ID', 'MEMBER', 'ROLE', 'NAME', 'LAST SIGN-IN', 'CREATED'];
  await printList(options, members, `No members in ${name}`, head, (member) => [
    member.id,
    describeMember(member),
    member.role,
    member.person?.name ?? '',
    findLastSignIn(member),
    member.createdAt,
  ]);
}

async function updateMember(id: string, options: MemberOptions & { readonly role: string }): Promise<void> {
  const path = `${findPlace(options).path}/${encodeURIComponent(id)}`;
  const { data } = await connect(options).send<Member>('PUT', path, { body: { role: options.role } });
  await printMember(options, data);
}

async function removeMember(id: string, options: MemberOptions): Promise<void> {
  const { path, name } = findPlace(options);
  await connect(options).send('DELETE', `${path}/${encodeURIComponent(id)}`);
  await printResult(options, { removed: id }, () => `Removed member ${id} of ${name}`);
}

/** Returns the time of the last sign-in, or the word for a person who has not come yet. */
const findLastSignIn = ({ person, email }: Member): string => person?.lastSignInAt ?? (email === null ? '' : 'invited');

const describeMember = ({ email, claim }: Member): string => email ?? `claim ${claim}`;

const printMember = (options: GlobalOptions, member: Member): Promise<void> =>
  printResult(options, member, () =>
    renderPairs([
      ['Id', member.id],
      ['Member', describeMember(member)],
      ['Role', member.role],
      ['Name', member.person?.name ?? '-'],
      ['Last sign-in', findLastSignIn(member) || '-'],
    ]),
  );
