// Finds the webhooks of a workspace by their ids or names.
import type { Webhook } from '../../admin-types/admin-api.d.ts';
import type { AdminClient } from './admin-client.ts';
import { connect, type GlobalOptions, requireWorkspace, workspacePath } from './command.ts';
import { runtimeFailure } from './failure.ts';

export const WEBHOOK_HELP = 'id or name of the webhook, as webhook list shows it';

/** Client and path of the webhooks of a workspace. */
export interface WebhookContext {
  readonly client: AdminClient;
  readonly path: string;
}

/** Connects to the server of the options. */
export const connectTo = (options: GlobalOptions): WebhookContext => ({
  client: connect(options),
  path: `${workspacePath(requireWorkspace(options))}/webhooks`,
});

/** Returns the path of a webhook; a name that is no number is looked up. */
export async function findPath({ client, path }: WebhookContext, text: string): Promise<string> {
  if (/^\d+$/.test(text)) return `${path}/${text}`;
  const webhooks = await client.readAll<Webhook>(path);
  const webhook = webhooks.find(({ name }) => name === text);
  if (webhook === undefined) {
    const names = webhooks.map(({ name }) => name).join(', ');
    throw runtimeFailure(`There is no webhook ${text}. Known: ${names === '' ? 'none' : names}`);
  }
  return `${path}/${webhook.id}`;
}
