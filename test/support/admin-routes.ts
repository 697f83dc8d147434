// What is served outside the data API as the list of its routes, without a server.

import type { AdminRoute } from '../../src/admin-api/route.ts';
import { adminRoutes } from '../../src/admin-api/routes.ts';
import type { Operation } from '../../src/openapi/operation.ts';
import { INDEX_ROUTE, metaRoutes } from '../../src/routes/health.ts';
import { oauthMounts } from '../../src/routes/oauth.ts';
import { resourceMetadataMount } from '../../src/routes/resource-metadata.ts';

// Whatever is asked of it: routes are made here, not called.
const NOBODY: object = new Proxy({}, { get: () => NOBODY });

export const ADMIN_PREFIX = '/api/admin/v1';
export const ADMIN_ROUTES: readonly AdminRoute[] = adminRoutes(NOBODY as never, NOBODY as never);

/** In the order of the mounts of a server. */
export const OPERATIONS: readonly Operation[] = [
  ...oauthMounts(NOBODY as never).flatMap(({ operations }) => operations),
  ...resourceMetadataMount(NOBODY as never).operations,
  ...metaRoutes(NOBODY as never),
  INDEX_ROUTE,
  ...ADMIN_ROUTES,
];

/** `GET /organizations/:org` */
export const routeName = ({ method, pattern }: Operation): string => `${method} ${pattern.slice(ADMIN_PREFIX.length)}`;
