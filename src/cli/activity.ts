// `wda activity`: who changed what, newest first.
import { ADMIN_PREFIX } from './admin-client.ts';
import { chosenWorkspace, connect, type GlobalOptions, workspacePath } from './connection.ts';
import { usageFailure } from './failure.ts';
import { printResult } from './io.ts';
import { renderTable } from './table.ts';

interface Activity {
  readonly at: string;
  readonly actor: { readonly kind: string; readonly name: string };
  readonly action: string;
  readonly organization: string | null;
  readonly workspace: string | null;
  readonly subject: string;
}

interface ActivityOptions extends GlobalOptions {
  /** Of everything, for the operator. */
  readonly all?: boolean;
  readonly actor?: string;
  readonly action?: string;
  readonly entity?: string;
  readonly since?: string;
  readonly first: string;
}

// One page of the server.
const MAX_FIRST = 1000;

export async function showActivity(options: ActivityOptions): Promise<void> {
  const { all = false, actor, action, entity, since, first } = options;
  if (!/^\d+$/.test(first) || Number(first) < 1 || Number(first) > MAX_FIRST) {
    throw usageFailure(`--first must be an integer from 1 to ${MAX_FIRST}, not ${first}`);
  }
  const path = all ? ADMIN_PREFIX : workspacePath(chosenWorkspace(options));
  const { data } = await connect(options).send('GET', `${path}/activity`, {
    query: [
      ['size', first],
      ['actor', actor],
      ['action', action],
      ['entity', entity],
      ['since', since],
    ],
  });
  const found = data as readonly Activity[];
  await printResult(options, found, () =>
    found.length === 0
      ? 'Nothing was changed'
      : renderTable(
          ['AT', ...(all ? ['WHERE'] : []), 'WHO', 'ACTION', 'SUBJECT'],
          found.map((one) => [one.at, ...(all ? [placeOf(one)] : []), whoOf(one), one.action, one.subject]),
        ),
  );
}

const placeOf = ({ organization, workspace }: Activity): string =>
  [organization, workspace].filter((slug) => slug !== null).join('/');

const whoOf = ({ actor: { kind, name } }: Activity): string => (kind === name ? name : `${kind} ${name}`);
