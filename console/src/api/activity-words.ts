// Entries of the activity log as sentences: `imported 2,000 customers`. Pure.

import { formatCount, pluralize } from '../format/amount.ts';
import type { Activity } from './types.ts';

type Details = Readonly<Record<string, unknown>>;

/** Words for what an action has done to its subject. A function has the sentence as a whole. */
const SENTENCES: Readonly<Record<string, string | ((entry: Activity, details: Details) => string)>> = {
  'apiKeys.create': 'created the API key',
  'apiKeys.update': 'changed the API key',
  'apiKeys.delete': 'revoked the API key',
  'backups.restore': 'restored the backup of',
  'cluster.cancelMove': 'cancelled the move of',
  'cluster.move': 'moved',
  'cluster.rebalance': 'balanced the cluster',
  'console.endSession': 'ended the session of',
  'console.makeLink': 'created a link for signing in',
  'grants.update': 'changed the grants of',
  'identityProvider.delete': 'removed the identity provider',
  'identityProvider.update': 'saved the identity provider',
  'mcp.replace': 'changed the settings for agents',
  'members.create': 'added the member',
  'members.createInOrganization': 'added to the organization the member',
  'members.delete': 'removed the member',
  'members.deleteFromOrganization': 'removed from the organization the member',
  'members.update': 'changed the role of',
  'members.updateInOrganization': 'changed the role in the organization of',
  'migrations.cancel': ({ subject }) => `cancelled migration ${subject}`,
  'oauthClients.create': 'created the OAuth client',
  'oauthClients.delete': 'deleted the OAuth client',
  'organizations.create': 'created the organization',
  'organizations.delete': 'deleted the organization',
  'organizations.update': 'changed the organization',
  'records.forget': 'removed values from the history of',
  'records.import': ({ subject }, { inserted, updated }) => describeImport(subject, inserted, updated),
  'rollouts.cancel': 'cancelled the rollout of',
  'rollouts.pause': 'paused the rollout of',
  'rollouts.plan': 'planned a rollout of',
  'rollouts.resume': 'resumed the rollout of',
  'rollouts.retry': 'tried the failed workspaces again of the rollout of',
  'rollouts.start': 'started a rollout of',
  'rowRules.update': 'changed the row rules of',
  'schema.update': 'changed the schema of',
  'settings.update': 'changed the settings of',
  'sharedSchemas.create': 'created the shared schema',
  'sharedSchemas.delete': 'deleted the shared schema',
  'sharedSchemas.publish': 'published a version of the shared schema',
  'signingKeys.rotate': (_, { revoke }) =>
    revoke === true ? 'replaced and revoked the signing keys' : 'rotated the signing keys',
  'views.create': 'saved the view',
  'views.delete': 'deleted the view',
  'views.update': 'changed the view',
  'webhooks.create': 'created the webhook',
  'webhooks.delete': 'deleted the webhook',
  'webhooks.disable': 'disabled the webhook',
  'webhooks.discard': 'discarded a message of the webhook',
  'webhooks.redeliver': 'sent a message again of the webhook',
  'webhooks.replay': 'replayed changes to the webhook',
  'webhooks.rotateSecret': 'rotated the secret of the webhook',
  'webhooks.update': 'changed the webhook',
  'workspaces.copy': 'copied the workspace to',
  'workspaces.create': 'created the workspace',
  'workspaces.delete': 'deleted the workspace',
  'workspaces.update': 'changed the workspace',
};

/** Subjects that the sentence of an action does not need. */
const WITHOUT_SUBJECT = new Set([
  'identityProvider.delete',
  'identityProvider.update',
  'mcp.replace',
  'console.makeLink',
  'cluster.rebalance',
]);

/** Actions for a filter: the nouns with all of their verbs, in words. */
export const ACTION_CHOICES: readonly { readonly value: string; readonly label: string }[] = [
  { value: '', label: 'Everything' },
  { value: 'schema', label: 'Schema' },
  { value: 'records', label: 'Imports' },
  { value: 'apiKeys', label: 'API keys' },
  { value: 'oauthClients', label: 'OAuth clients' },
  { value: 'identityProvider', label: 'Identity provider' },
  { value: 'rowRules', label: 'Row rules' },
  { value: 'grants', label: 'Grants' },
  { value: 'settings', label: 'Settings' },
  { value: 'members', label: 'Members' },
  { value: 'views', label: 'Views' },
  { value: 'webhooks', label: 'Webhooks' },
  { value: 'migrations', label: 'Migrations' },
  { value: 'workspaces', label: 'Workspace' },
  { value: 'mcp', label: 'Agents' },
];

/**
 * Returns what the actor has done, without the actor. An action without a sentence, of a newer server, is its code with
 * the subject.
 */
export function describeActivity(entry: Activity): string {
  const sentence = SENTENCES[entry.action];
  if (typeof sentence === 'function') return sentence(entry, entry.details as Details);
  const subject = WITHOUT_SUBJECT.has(entry.action) ? '' : ((entry.subject || entry.entity) ?? '');
  return `${sentence ?? entry.action} ${subject}`.trim();
}

function describeImport(subject: string, inserted: unknown, updated: unknown): string {
  const [added, changed] = [Number(inserted) || 0, Number(updated) || 0];
  if (added > 0 && changed > 0) return `imported ${formatCount(added)} ${subject} and changed ${formatCount(changed)}`;
  if (changed > 0) return `changed ${pluralize(changed, 'record')} of ${subject} by an import`;
  return `imported ${formatCount(added)} ${subject}`;
}
