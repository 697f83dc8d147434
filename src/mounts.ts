// Lists what the server serves, in the order in which a request looks for its mount: the API, the console, OAuth, the
// documentation, health, the admin API.
import { join } from 'node:path';
import { adminRoutes } from './admin-api/routes.ts';
import { makeKey } from './auth/api-key.ts';
import { isClientId, makeOAuthClient } from './auth/oauth-client.ts';
import { MAX_TICKET_SECONDS, SignInError } from './auth/openid-sign-in.ts';
import { SIGNING_ALGORITHM } from './auth/signing-keys.ts';
import type { Config } from './config.ts';
import { isStaleBuild } from './console-api/build-id.ts';
import { makeFrontMount, makePageMount, readBuild } from './console-api/page.ts';
import { createSessionEndpoint } from './console-api/session.ts';
import { CONSOLE_LOGIN, createSessionProxy } from './console-api/session-proxy.ts';
import { makeSignInMount } from './console-api/sign-in.ts';
import { type Mount, makeRouteMount } from './http/router.ts';
import type { Observer } from './observer.ts';
import { adminDocument } from './openapi/admin.ts';
import type { ReadinessState } from './readiness.ts';
import { makeDocumentationMount } from './routes/documentation.ts';
import { INDEX_ROUTE, metaRoutes } from './routes/health.ts';
import { oauthMounts } from './routes/oauth.ts';
import { resourceMetadataMount } from './routes/resource-metadata.ts';
import type { Services } from './services.ts';
import { listSettings } from './settings.ts';

/** Builds the mounts of the server; a request goes to the first that matches its URL. */
export function buildMounts(
  config: Config,
  services: Services,
  { log, metrics, statistics }: Observer,
  readiness: ReadinessState,
): Mount[] {
  const {
    databases,
    cache,
    refusals: errorThrottle,
    registry,
    changed,
    rateLimit,
    runner,
    outbound,
    externalTokens,
    oauth,
    authenticator,
    records,
  } = services;
  const { publicUrl, maxBodyBytes, maxResponseBytes } = config;
  const health = metaRoutes({
    db: databases.directory,
    metrics,
    unready: readiness.reason,
    nodesDown: () => databases.topology.listUnavailableNodes(),
  });
  const admin = adminRoutes(
    {
      databases,
      async authenticate(credential) {
        const principal = await authenticator.identify(credential);
        await rateLimit(principal.credentialId);
        return principal;
      },
      async announceChange(...workspaceIds) {
        workspaceIds.forEach(changed);
        await registry.invalidateAll();
      },
      makeKey,
      identityProviders: {
        outbound,
        externalTokens,
        publicUrl,
        onWarning: (issuer, reason) => log.warn('an identity provider does not work as configured', { issuer, reason }),
      },
      makeOAuthClient,
      isClientId,
      signingKeys: oauth.keys,
      webhooks: services.webhooks,
      rollouts: services.rollouts,
      changes: { historyDays: config.historyDays, countStreams: services.records.countStreams },
      consoleSessions: {
        ...services.consoleServices,
        makeLink: services.consoleServices.sessions.makeLink,
        address: config.console ? publicUrl + CONSOLE_LOGIN : undefined,
      },
      server: {
        startedAt: new Date(),
        isEmbedded: config.databaseUrl === undefined,
        address: services.databaseAddress,
        settings: listSettings(config),
        statistics,
      },
      backups: services.backups,
      usage: { measure: services.quotas.measure, findWorkspace: services.cache.get },
      cluster: services.cluster,
      executeAs: records.executeAs,
      maxResponseBytes,
      // Runs when a request needs it: `mounts` is defined by then.
      adminDocument: () =>
        adminDocument(
          mounts.flatMap(({ operations }) => operations),
          publicUrl,
        ),
    },
    runner,
  );
  const adminMount = makeRouteMount([INDEX_ROUTE, ...admin], { readyFirst: true, maxBodyBytes });
  const mounts: Mount[] = [
    records.mount,
    ...(config.console ? buildConsoleMounts(config, services.consoleServices, log, [records.mount, adminMount]) : []),
    ...oauthMounts({
      publicUrl,
      tokenEndpoint: oauth.tokenEndpoint,
      publicKeys: oauth.keys.list,
      algorithm: SIGNING_ALGORITHM,
    }),
    resourceMetadataMount({
      publicUrl,
      mcp: config.mcp,
      findWorkspace: cache.get,
      corsOrigins: records.mount.corsOrigins,
      waitForThrottle: errorThrottle.wait,
    }),
    makeDocumentationMount(DOCUMENTATION),
    makeRouteMount(health, { readyFirst: false, maxBodyBytes }),
    adminMount,
  ];
  return mounts;
}

// Next to src/ in a clone, and next to dist/ in a package.
const CONSOLE = join(import.meta.dirname, '../console');
const DOCUMENTATION = join(import.meta.dirname, '../site/dist');

/** True when the sources of the console have changed since it was built. */
export const isConsoleStale = (): boolean => isStaleBuild(CONSOLE);

/** Builds the mounts of the console: its page, and its way to the mounts of the API. */
function buildConsoleMounts(
  { publicUrl, people }: Config,
  { sessions, signIns, instanceName, people: signIn }: Services['consoleServices'],
  log: Observer['log'],
  api: readonly Mount[],
): Mount[] {
  const isHttps = publicUrl.startsWith('https:');
  const sessionEndpoint = createSessionEndpoint({
    sessions,
    attempts: signIns,
    instanceName,
    isHttps,
  });
  const front = api.find(({ matches }) => matches('/'));
  return [
    createSessionProxy({ ...sessionEndpoint, mounts: api, verify: sessions.verify, publicUrl }),
    ...(signIn === undefined || people === undefined
      ? []
      : [
          makeSignInMount({
            ...{ signIn, instanceName, isHttps, attempts: signIns, providerName: people.name },
            seconds: MAX_TICKET_SECONDS,
            describeFailure: (error) =>
              error instanceof SignInError ? { kind: error.kind, reason: error.message, who: error.who } : undefined,
            openSession: async (personId, userAgent) =>
              sessionEndpoint.formatCookie(await sessions.signInPerson(personId, userAgent)),
            onFailure: (reason) => log.warn('a sign-in to the console failed', { reason }),
          }),
        ]),
    makePageMount(readBuild(join(CONSOLE, 'dist')), people?.name),
    ...(front === undefined ? [] : [makeFrontMount(front)]),
  ];
}
