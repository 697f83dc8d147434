// /webhooks: create, list, read, change and delete. Secrets are shown once, and the values of headers never.
import { validationFailed } from '../errors.ts';
import { HttpClientError } from '../http-client/errors.ts';
import type { HttpClient } from '../http-client/http-client.ts';
import { makeReport } from '../schema/report.ts';
import {
  createWebhook,
  deleteWebhook,
  loadWebhooks,
  lockWebhook,
  updateWebhook,
  type Webhook,
} from '../store/webhooks.ts';
import { makeSigningSecret } from '../webhooks/signature.ts';
import { noWorkspace, requireValue } from './access.ts';
import { refinedBody } from './body.ts';
import { PAGE } from './query.ts';
import { data, NOTHING, pageShape, respondCreated, respondData, respondNothing, respondPage } from './response.ts';
import { type AdminRoute, parseId, routeMaker, WORKSPACE, workspaceLocation } from './route.ts';
import {
  checkUrl,
  NewWebhook,
  parseSelection,
  WebhookChange,
  WebhookCreated,
  WebhookResponse,
} from './webhook-body.ts';
import { findPlaceNow } from './webhook-feed.ts';

import {
  changesSelection,
  describeWebhook,
  type Members,
  makeFindContext,
  makeFindTarget,
  mergeMembers,
  noWebhook,
  requireChanges,
  requireSecrets,
  requireSelection,
  showWebhooks,
  toMembers,
  toSettings,
  WEBHOOK_ID,
  type WebhookContext,
  type WebhookServices,
  type WebhookTarget,
} from './webhook-values.ts';

const RESOLVE_TIMEOUT_MS = 3000;

const DEFAULTS: Omit<Members, 'name' | 'url'> = {
  entities: null,
  types: ['created', 'updated', 'removed'],
  fields: null,
  filter: null,
  previous: false,
  maxBatch: 1,
  ordering: 'relaxed',
  headers: {},
  enabled: true,
};

export const webhookRoutes = (services: WebhookServices): AdminRoute[] => [
  ...readRoutes(services),
  ...changeRoutes(services),
];

function readRoutes(services: WebhookServices): AdminRoute[] {
  const { databases } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'webhooks.list',
      method: 'GET',
      path: `${WORKSPACE}/webhooks`,
      access: 'workspace',
      summary: 'The webhooks of a workspace, without their secrets',
      description: 'The oldest first, with how many events wait for each.',
      errors: {},
      query: PAGE,
      find: makeFindContext(services),
      responses: { 200: pageShape(WebhookResponse) },
      async handle({ workspace, resource: context, query }) {
        const { rows, total } = await loadWebhooks(databases.directory, workspace.id, query);
        return respondPage({ rows: await showWebhooks(databases, rows, context), total }, query, (row) => row);
      },
    }),
    route({
      id: 'webhooks.read',
      method: 'GET',
      path: `${WORKSPACE}/webhooks/:id`,
      access: 'workspace',
      summary: 'A webhook, without its secret',
      description: 'With how many events wait, and how its last attempt ended.',
      errors: {},
      params: WEBHOOK_ID,
      find: makeFindTarget(services),
      responses: { 200: data(WebhookResponse) },
      async handle({ resource: { webhook, ...context } }) {
        const [response] = await showWebhooks(databases, [webhook], context);
        return respondData(response!);
      },
    }),
    route({
      id: 'webhooks.delete',
      method: 'DELETE',
      path: `${WORKSPACE}/webhooks/:id`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'written',
      summary: 'Deletes a webhook with its messages',
      description: 'Nothing more is sent; an attempt under way may arrive.',
      errors: {},
      params: WEBHOOK_ID,
      find: ({ params }) => parseId(params.id, 'Webhook'),
      responses: { 204: NOTHING },
      async handle({ workspace, resource: id, audit }) {
        await audit.change(
          (session) => requireValue(deleteWebhook(session, workspace.id, id), () => noWebhook(id)),
          (name) => ({ subject: name, details: { id: Number(id) } }),
        );
        return respondNothing();
      },
    }),
  ];
}

function changeRoutes(services: WebhookServices): AdminRoute[] {
  const { databases, webhooks } = services;
  const route = routeMaker(services);
  return [
    route({
      id: 'webhooks.create',
      method: 'POST',
      path: `${WORKSPACE}/webhooks`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'written',
      summary: 'Makes a webhook, and shows its secret this once',
      description: 'It sends what is committed from this moment on.',
      errors: {
        CONFLICT: 'another webhook has the name, or the workspace has as many as it may have',
        CHANGES_OFF: 'an entity keeps no changes',
      },
      find: makeFindContext(services),
      body: refinedBody(NewWebhook, (input, report, raw, { workspace }: WebhookContext) => {
        const members = mergeMembers({ ...DEFAULTS, name: input.name, url: input.url }, input, raw, report);
        checkUrl(members.url, webhooks.client.findMistake, report);
        return { ...members, scope: parseSelection(members, workspace, report) };
      }),
      example: { name: 'shop to ERP', url: 'https://erp.example.com/hooks/shop', entities: ['orders'] },
      responses: { 201: data(WebhookCreated) },
      async handle({ workspace, resource: context, body, audit }) {
        const { seals } = context;
        await requireCallable(webhooks.client, body.url);
        requireChanges(body.entities, context.workspace);
        const secret = makeSigningSecret();
        const place = await findPlaceNow(databases.forWorkspace(workspace), context.workspace);
        const webhook = await audit.change(
          (session, createdBy) =>
            requireValue(
              createWebhook(session, {
                ...toSettings(body, context),
                workspaceId: workspace.id,
                scope: body.scope,
                secret: seals.seal(workspace.id, secret),
                place,
                createdBy,
              }),
              () => noWorkspace(workspace.slug),
            ),
          describeWebhook,
        );
        const [response] = await showWebhooks(databases, [webhook], context);
        return respondCreated({ ...response!, secret }, workspaceLocation(workspace, `/webhooks/${webhook.id}`));
      },
    }),
    route({
      id: 'webhooks.update',
      method: 'PUT',
      path: `${WORKSPACE}/webhooks/:id`,
      access: 'workspace',
      changes: 'nothing',
      activity: 'written',
      summary: 'Changes a webhook, or stops it and lets it go on',
      description: 'A message under way stays as it is. The secret stays.',
      errors: {
        CONFLICT: 'another webhook has the name, or it lacks a secret or a value of a header after a restore',
        CHANGES_OFF: 'an entity keeps no changes',
      },
      params: WEBHOOK_ID,
      find: makeFindTarget(services),
      body: refinedBody(WebhookChange, (input, report, raw, { webhook, workspace, seals }: WebhookTarget) => {
        const members = mergeMembers(toMembers(webhook, seals), input, raw, report);
        const { url, entities, enabled } = input;
        // Others may be made although the schema, or the networks that are allowed, have changed.
        if (url !== undefined || enabled) checkUrl(members.url, webhooks.client.findMistake, report);
        if (changesSelection(input) || enabled) parseSelection(members, workspace, report);
        const merge = (stored: Webhook): Members => mergeMembers(toMembers(stored, seals), input, raw, makeReport(raw));
        return { merge, url, entities, changesSelection: changesSelection(input) };
      }),
      example: { enabled: false },
      responses: { 200: data(WebhookResponse) },
      async handle({ workspace, resource: { webhook: before, ...context }, body, audit }) {
        const { id } = before;
        if (body.url !== undefined) await requireCallable(webhooks.client, body.url);
        requireChanges(body.entities ?? null, context.workspace);
        const place = await findPlaceNow(databases.forWorkspace(workspace), context.workspace);
        const webhook = await audit.change(async (session) => {
          const stored = await requireValue(lockWebhook(session, workspace.id, id), () => noWebhook(id));
          const members = body.merge(stored);
          if (members.enabled) requireSecrets(stored, members.headers);
          const isChecked = body.changesSelection || (members.enabled && !stored.enabled);
          const scope = isChecked ? requireSelection(members, context.workspace) : undefined;
          return updateWebhook(session, id, {
            ...toSettings(members, context),
            scope,
            place: members.enabled ? place : undefined,
          });
        }, describeWebhook);
        const [response] = await showWebhooks(databases, [webhook], context);
        return respondData(response!);
      },
    }),
  ];
}

/** Throws 400 for a URL whose host may not be called as it resolves now. One that does not resolve may later. */
async function requireCallable(client: Pick<HttpClient, 'resolve'>, url: string): Promise<void> {
  await client.resolve(url, AbortSignal.timeout(RESOLVE_TIMEOUT_MS)).catch((error) => {
    if (!(error instanceof HttpClientError)) throw error;
    if (error.kind === 'refused') throw validationFailed([{ field: 'url', code: 'INVALID', message: error.message }]);
  });
}
