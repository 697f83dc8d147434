// The admin API as a table of routes, one file for each noun.
import type { Runner } from '../../migrate/runner.ts';
import { type AccessTestRooms, accessTestRoutes } from './access-test.ts';
import { activityRoutes } from './activity.ts';
import { agentRoutes } from './agents.ts';
import { type ApiKeyMaker, apiKeyRoutes } from './api-keys.ts';
import { type BackupRooms, backupRoutes } from './backup.ts';
import { type ClusterRooms, clusterRoutes } from './cluster.ts';
import { type AdminDocumentRooms, documentRoutes } from './document.ts';
import { type IdentityProviderRooms, identityProviderRoutes } from './identity-provider.ts';
import { migrationRoutes } from './migrations.ts';
import { type OAuthClientMaker, oauthClientRoutes } from './oauth-clients.ts';
import { organizationRoutes } from './organizations.ts';
import type { AdminRooms, AdminRoute } from './route.ts';
import { schemaRoutes } from './schema.ts';
import { type ServerRooms, serverRoutes } from './server.ts';
import { sessionRoutes } from './session.ts';
import { type SessionListRooms, sessionListRoutes } from './sessions.ts';
import { settingsRoutes } from './settings.ts';
import { type SigningKeyRooms, signingKeyRoutes } from './signing-keys.ts';
import { statisticsRoutes } from './statistics.ts';
import { workspaceRoutes } from './workspaces.ts';

export function adminRoutes(
  rooms: AdminRooms &
    AccessTestRooms &
    AdminDocumentRooms &
    ApiKeyMaker &
    BackupRooms &
    ClusterRooms &
    IdentityProviderRooms &
    OAuthClientMaker &
    ServerRooms &
    SessionListRooms &
    SigningKeyRooms,
  runner: Runner,
): AdminRoute[] {
  const routes = [
    ...serverRoutes(rooms),
    ...sessionRoutes(rooms),
    ...sessionListRoutes(rooms),
    ...organizationRoutes(rooms),
    ...workspaceRoutes(rooms),
    ...statisticsRoutes(rooms),
    ...schemaRoutes(rooms, runner),
    ...migrationRoutes(rooms, runner),
    ...settingsRoutes(rooms, runner),
    ...apiKeyRoutes(rooms),
    ...oauthClientRoutes(rooms),
    ...signingKeyRoutes(rooms),
    ...accessTestRoutes(rooms),
    ...identityProviderRoutes(rooms),
    ...agentRoutes(rooms),
    ...backupRoutes(rooms),
    ...clusterRoutes(rooms),
    ...documentRoutes(rooms),
  ];
  return [...routes, ...activityRoutes(rooms, routes)];
}
