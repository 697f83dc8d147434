// Table of all routes of the admin API, with one file for each noun.
import type { Runner } from '../migrations/runner.ts';
import { accessReportRoutes } from './access-report.ts';
import { type AccessTestServices, accessTestRoutes } from './access-test.ts';
import { activityRoutes } from './activity.ts';
import { agentRoutes } from './agents.ts';
import { type ApiKeyMaker, apiKeyRoutes } from './api-keys.ts';
import { type BackupServices, backupRoutes } from './backup.ts';
import { type ChangeServices, changeRoutes } from './changes.ts';
import { type ClusterServices, clusterRoutes } from './cluster.ts';
import { type IdentityProviderServices, identityProviderRoutes } from './identity-provider.ts';
import { type UsageServices, usageRoutes } from './limits.ts';
import { memberRoutes } from './members.ts';
import { migrationRoutes } from './migrations.ts';
import {
  type OAuthClientMaker,
  oauthClientRoutes,
  type SigningKeyServices,
  signingKeyRoutes,
} from './oauth-clients.ts';
import { organizationRoutes } from './organizations.ts';
import { type RolloutServices, rolloutRoutes } from './rollouts.ts';
import type { AdminRoute, AdminServices } from './route.ts';
import { schemaRoutes } from './schema.ts';
import { type DocumentServices, documentRoutes, type ServerServices, serverRoutes } from './server.ts';
import { sessionRoutes } from './session.ts';
import { type SessionListServices, sessionListRoutes } from './sessions.ts';
import { settingsRoutes } from './settings.ts';
import { sharedSchemaRoutes } from './shared-schemas.ts';
import { tokenTestRoutes } from './token-test.ts';
import { viewRoutes } from './views.ts';
import { webhookActionRoutes } from './webhook-actions.ts';
import { webhookDeliveryRoutes } from './webhook-deliveries.ts';
import type { WebhookServices } from './webhook-values.ts';
import { webhookRoutes } from './webhooks.ts';
import { workspaceCopyRoutes } from './workspace-copy.ts';
import { statisticsRoutes } from './workspace-statistics.ts';
import { workspaceRoutes } from './workspaces.ts';

export function adminRoutes(
  services: AdminServices &
    AccessTestServices &
    DocumentServices &
    ApiKeyMaker &
    BackupServices &
    ChangeServices &
    ClusterServices &
    IdentityProviderServices &
    OAuthClientMaker &
    RolloutServices &
    ServerServices &
    SessionListServices &
    SigningKeyServices &
    UsageServices &
    WebhookServices,
  runner: Runner,
): AdminRoute[] {
  const routes = [
    ...serverRoutes(services),
    ...sessionRoutes(services),
    ...sessionListRoutes(services),
    ...organizationRoutes(services),
    ...workspaceRoutes(services, runner),
    ...workspaceCopyRoutes(services),
    ...sharedSchemaRoutes(services, runner),
    ...statisticsRoutes(services),
    ...usageRoutes(services),
    ...schemaRoutes(services, runner),
    ...rolloutRoutes(services),
    ...migrationRoutes(services, runner),
    ...settingsRoutes(services, runner),
    ...memberRoutes(services),
    ...apiKeyRoutes(services),
    ...oauthClientRoutes(services),
    ...signingKeyRoutes(services),
    ...changeRoutes(services),
    ...viewRoutes(services),
    ...webhookRoutes(services),
    ...webhookActionRoutes(services),
    ...webhookDeliveryRoutes(services),
    ...accessReportRoutes(services),
    ...accessTestRoutes(services),
    ...identityProviderRoutes(services),
    ...tokenTestRoutes(services),
    ...agentRoutes(services),
    ...backupRoutes(services),
    ...clusterRoutes(services),
    ...documentRoutes(services),
  ];
  return [...routes, ...activityRoutes(services, routes)];
}
