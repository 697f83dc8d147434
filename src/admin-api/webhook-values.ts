// Members of webhooks between bodies, the control tables and answers: what a body changes, checks against the schema, and what
// a restore has left out.
import type { Static } from 'typebox';
import { conflict, notFound, validationFailed } from '../errors.ts';
import type { HttpClient } from '../http-client/http-client.ts';
import { keepsChanges } from '../model/entity.ts';
import { parseExact } from '../model/exact-json.ts';
import type { Workspace } from '../model/workspace.ts';
import { changesOff } from '../plan/errors.ts';
import { makeReport, type Report } from '../schema/report.ts';
import type { Databases } from '../store/databases.ts';
import { loadWorkspace } from '../store/load-workspace.ts';
import { openHeaders, sealHeaders, type WebhookHeaders, type WebhookSeals } from '../store/webhook-seals.ts';
import { findWebhook, type Webhook, type WebhookSettings } from '../store/webhooks.ts';
import type { WorkspaceSummary } from '../store/workspaces.ts';
import type { WebhookSending } from '../webhooks/sending.ts';
import { noWorkspace, requireValue } from './access.ts';
import { idParam } from './describe.ts';
import { formatTime } from './response.ts';
import { type AdminServices, parseId } from './route.ts';
import { parseHeaders, parseSelection, type WebhookInput, type WebhookResponse } from './webhook-body.ts';
import { makeCountWaiting, type Waiting, type WebhookSelection } from './webhook-feed.ts';

export interface WebhookServices extends AdminServices {
  readonly webhooks: {
    /** Whether messages are sent. */
    readonly isOn: boolean;
    readonly seals: () => Promise<WebhookSeals>;
    readonly sending: Pick<WebhookSending, 'remakeBody'>;
    readonly client: Pick<HttpClient, 'findMistake' | 'resolve' | 'post'>;
    readonly timeoutMs: number;
  };
}

/** A workspace whose webhooks a request is about. */
export interface WebhookContext {
  readonly workspace: Workspace;
  readonly seals: WebhookSeals;
}

/** A webhook that exists. */
export interface WebhookTarget extends WebhookContext {
  readonly webhook: Webhook;
}

/** Members of a webhook that a body may have, all of them. */
export type Members = Omit<WebhookSettings, 'filter' | 'headers' | 'headerNames'> &
  WebhookSelection & { readonly headers: WebhookHeaders };

export const WEBHOOK_ID = { id: idParam('webhook') };

export const noWebhook = (id: string): Error => notFound('WEBHOOK_NOT_FOUND', `Webhook ${id} does not exist`);

export const isDisabled = (name: string): Error =>
  conflict('WEBHOOK_DISABLED', `Webhook ${name} is disabled, and sends nothing: enable it first`);

/** Loads what answers about webhooks need. */
export async function loadContext(
  { databases, webhooks }: WebhookServices,
  { organization, slug }: WorkspaceSummary,
): Promise<WebhookContext> {
  const [workspace, seals] = await Promise.all([
    requireValue(loadWorkspace(databases, organization, slug), () => noWorkspace(slug)),
    webhooks.seals(),
  ]);
  return { workspace, seals };
}

/** Loads the webhook of a path; 404 if the workspace has none with this id. */
export function requireWebhook(databases: Databases, { id }: WorkspaceSummary, text: string): Promise<Webhook> {
  const webhookId = parseId(text, 'Webhook');
  return requireValue(findWebhook(databases.directory, id, webhookId), () => noWebhook(webhookId));
}

export const isRotating = ({ previousSecretUntil }: Webhook): boolean =>
  previousSecretUntil !== null && previousSecretUntil.getTime() > Date.now();

/** Makes the function that loads what requests about all webhooks need. */
export const makeFindContext =
  (services: WebhookServices) =>
  ({ workspace }: { readonly workspace: WorkspaceSummary }): Promise<WebhookContext> =>
    loadContext(services, workspace);

/** Makes the function that loads the webhook of a path. */
export const makeFindTarget =
  (services: WebhookServices) =>
  async ({
    workspace,
    params,
  }: {
    readonly workspace: WorkspaceSummary;
    readonly params: { readonly id: string };
  }): Promise<WebhookTarget> => {
    const webhook = await requireWebhook(services.databases, workspace, params.id);
    return { ...(await loadContext(services, workspace)), webhook };
  };

/* ---- members ---- */

const parseFilter = (text: string | null): unknown => (text === null ? null : parseExact(text));

/** Returns the headers, those that a restore has left out with null. */
export function loadHeaders({ workspaceId, headerNames, headers }: Webhook, seals: WebhookSeals): WebhookHeaders {
  const values = openHeaders(seals, workspaceId, headers);
  return Object.fromEntries(headerNames.map((name) => [name, values[name] ?? null]));
}

export const toMembers = (webhook: Webhook, seals: WebhookSeals): Members => ({
  ...webhook,
  filter: parseFilter(webhook.filter),
  headers: loadHeaders(webhook, seals),
});

/** Returns the members with those of a body in their place; the filter of `raw`, where numbers keep their digits. */
export function mergeMembers(stored: Members, input: WebhookInput, raw: unknown, report: Report): Members {
  const { headers, filter } = input;
  const newMembers = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  return {
    ...stored,
    ...newMembers,
    filter: filter === undefined ? stored.filter : (raw as { readonly filter: unknown }).filter,
    headers: headers === undefined ? stored.headers : parseHeaders(headers, stored.headers, report),
  };
}

export const toSettings = (members: Members, { workspace, seals }: WebhookContext): WebhookSettings => ({
  name: members.name,
  url: members.url,
  types: members.types,
  fields: members.fields,
  filter: members.filter === null ? null : JSON.stringify(members.filter),
  previous: members.previous,
  maxBatch: members.maxBatch,
  ordering: members.ordering,
  headerNames: Object.keys(members.headers),
  headers: sealHeaders(seals, workspace.id, members.headers),
  enabled: members.enabled,
});

/** Returns whether a body changes which events a webhook has. */
export const changesSelection = ({ entities, fields, filter }: WebhookInput): boolean =>
  entities !== undefined || fields !== undefined || filter !== undefined;

/** Throws 409 if one of the entities keeps no changes. */
export function requireChanges(entities: readonly string[] | null, workspace: Workspace): void {
  const off = entities?.find((name) => {
    const entity = workspace.entities.get(name);
    return entity !== undefined && !keepsChanges(entity.settings);
  });
  if (off !== undefined) throw changesOff(off);
}

/** Returns the ids of the entities; 400 if the schema does not have what the webhook is about. */
export function requireSelection(members: Members, workspace: Workspace): readonly string[] | null {
  const report = makeReport(members);
  const scope = parseSelection(members, workspace, report);
  const details = report.details();
  if (details.length > 0) throw validationFailed(details);
  return scope;
}

/** Throws 409 if the webhook is to send without what a restore has left out. */
export function requireSecrets({ name, secret }: Webhook, headers: WebhookHeaders): void {
  const missing = Object.keys(headers).filter((header) => headers[header] === null);
  const what = [...(secret === null ? ['its secret (rotate-secret makes one)'] : []), ...missing];
  if (what.length > 0)
    throw conflict('WEBHOOK_INCOMPLETE', `Webhook ${name} was restored without ${what.join(', ')}: give it first`);
}

/* ---- answers ---- */

export const describeWebhook = ({ id, name, url, entities, types, enabled }: Webhook) => ({
  subject: name,
  details: { id: Number(id), host: URL.parse(url)?.host ?? null, entities, types, enabled },
});

export async function showWebhooks(
  databases: Databases,
  webhooks: readonly Webhook[],
  { workspace }: WebhookContext,
): Promise<Static<typeof WebhookResponse>[]> {
  const count = await makeCountWaiting(databases.forWorkspace(workspace), workspace);
  const response: Static<typeof WebhookResponse>[] = [];
  for (const webhook of webhooks) response.push(toResponse(webhook, await count(webhook)));
  return response;
}

function toResponse(webhook: Webhook, waiting: Waiting): Static<typeof WebhookResponse> {
  const { enabled, failures, previousSecretUntil } = webhook;
  const isFailing = failures > 0;
  return {
    id: Number(webhook.id),
    name: webhook.name,
    url: webhook.url,
    entities: webhook.entities,
    types: webhook.types,
    fields: webhook.fields,
    filter: parseFilter(webhook.filter),
    previous: webhook.previous,
    maxBatch: webhook.maxBatch,
    ordering: webhook.ordering,
    headers: Object.fromEntries(webhook.headerNames.map((name) => [name, null])),
    enabled,
    state: enabled ? (isFailing ? 'failing' : 'ok') : 'disabled',
    disabledReason: webhook.disabledReason,
    previousSecretUntil: isRotating(webhook) ? formatTime(previousSecretUntil) : null,
    ...waiting,
    lastAttemptAt: formatTime(webhook.lastAttemptAt),
    lastStatus: webhook.lastStatus,
    nextAttemptAt: enabled && isFailing ? formatTime(webhook.dueAt) : null,
    createdAt: formatTime(webhook.createdAt),
    createdBy: webhook.createdBy,
  };
}
