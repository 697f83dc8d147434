// The list of what the server serves, made from the rooms.
import { join } from 'node:path';
import { makeKey } from './auth/api-key.ts';
import { isClientId, makeOAuthClient } from './auth/oauth-client.ts';
import { SIGNING_ALGORITHM } from './auth/signing-keys.ts';
import type { Config } from './config.ts';
import { isStaleBuild } from './console/build-id.ts';
import { frontMount, pageMount, readBuild } from './console/page.ts';
import { createSessionEndpoint } from './console/session.ts';
import { CONSOLE_LOGIN, createSessionProxy } from './console/session-proxy.ts';
import type { House } from './house.ts';
import type { Mount } from './http/router.ts';
import { routeMount } from './http/router.ts';
import type { Observer } from './observe.ts';
import { adminDocument } from './openapi/admin.ts';
import type { ReadinessState } from './readiness.ts';
import { adminRoutes } from './routes/admin/routes.ts';
import { INDEX_ROUTE, metaRoutes } from './routes/meta.ts';
import { oauthMounts } from './routes/oauth.ts';
import { resourceMetadataMount } from './routes/resource-metadata.ts';
import { settingsInForce } from './settings-in-force.ts';

/** What the server serves; a request goes to the first that takes its URL. */
export function mountsOf(config: Config, house: House, { log, metrics }: Observer, readiness: ReadinessState): Mount[] {
  const {
    databases,
    cache,
    refusals,
    registry,
    changed,
    rateLimit,
    runner,
    outbound,
    externalTokens,
    oauth,
    authenticator,
    records,
  } = house;
  const { publicUrl, maxBodyBytes, maxResponseBytes } = config;
  const health = metaRoutes({
    db: databases.directory,
    metrics,
    unready: readiness.reason,
    nodesDown: () => databases.topology.down(),
  });
  const admin = adminRoutes(
    {
      databases,
      async authenticate(credential) {
        const principal = await authenticator.identify(credential);
        await rateLimit(principal.credentialId);
        return principal;
      },
      async announced(...workspaceIds) {
        workspaceIds.forEach(changed);
        await registry.invalidateAll();
      },
      makeKey,
      identityProviders: {
        outbound,
        externalTokens,
        publicUrl,
        onWarning: (issuer, reason) =>
          log.warn('an identity provider was configured that does not work', { issuer, reason }),
      },
      makeOAuthClient,
      isClientId,
      signingKeys: oauth.keys,
      consoleSessions: {
        ...house.consoleRooms,
        makeLink: house.consoleRooms.sessions.makeLink,
        address: config.console ? publicUrl + CONSOLE_LOGIN : undefined,
      },
      server: {
        startedAt: new Date(),
        isEmbedded: config.databaseUrl === undefined,
        address: house.databaseAddress,
        settings: settingsInForce(config),
      },
      backups: house.backups,
      cluster: house.cluster,
      executeAs: records.executeAs,
      maxResponseBytes,
      // Asked for by requests, when the mounts are there.
      adminDocument: () =>
        adminDocument(
          mounts.flatMap(({ operations }) => operations),
          publicUrl,
        ),
    },
    runner,
  );
  const adminMount = routeMount([INDEX_ROUTE, ...admin], { readyFirst: true, maxBodyBytes });
  const mounts: Mount[] = [
    records.mount,
    ...(config.console ? consoleMounts(house.consoleRooms, publicUrl, [records.mount, adminMount]) : []),
    ...oauthMounts({
      publicUrl,
      tokenEndpoint: oauth.tokenEndpoint,
      publicKeys: oauth.keys.list,
      algorithm: SIGNING_ALGORITHM,
    }),
    resourceMetadataMount({ publicUrl, mcp: config.mcp, findWorkspace: cache.get, refusalTurn: refusals.wait }),
    routeMount(health, { readyFirst: false, maxBodyBytes }),
    adminMount,
  ];
  return mounts;
}

// Beside src/ in a clone, and beside dist/ in a package.
const CONSOLE = join(import.meta.dirname, '../console');

/** True when somebody has changed the console since it was built. */
export const isConsoleStale = (): boolean => isStaleBuild(CONSOLE);

/** The console: its page, and its door to the mounts of the API. */
function consoleMounts(
  { sessions, signIns, instanceName }: House['consoleRooms'],
  publicUrl: string,
  api: readonly Mount[],
): Mount[] {
  const door = createSessionEndpoint({
    sessions,
    attempts: signIns,
    instanceName,
    isHttps: publicUrl.startsWith('https:'),
  });
  const front = api.find(({ matches }) => matches('/'));
  return [
    createSessionProxy({ ...door, behind: api, verify: sessions.verify, publicUrl }),
    pageMount(readBuild(join(CONSOLE, 'dist'))),
    ...(front === undefined ? [] : [frontMount(front)]),
  ];
}
