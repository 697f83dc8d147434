// The admin API as the list of its routes, without a server; and its answers held against the shapes that they promise.
import { makeReport } from '../../src/document/report.ts';
import { checkShape } from '../../src/document/shape.ts';
import { NOTHING } from '../../src/routes/admin/answer.ts';
import type { AdminRoute } from '../../src/routes/admin/route.ts';
import { adminRoutes } from '../../src/routes/admin/routes.ts';
import type { Answer } from './server.ts';

// Whatever is asked of it: routes are made here, not called.
const NOBODY: object = new Proxy({}, { get: () => NOBODY });

export const ADMIN_PREFIX = '/api/admin/v1';
export const ADMIN_ROUTES: readonly AdminRoute[] = adminRoutes(NOBODY as never, NOBODY as never);

/** `GET /organizations/:org` */
export const routeName = ({ method, pattern }: AdminRoute): string => `${method} ${pattern.slice(ADMIN_PREFIX.length)}`;

const MATCHERS = ADMIN_ROUTES.map((route) => ({
  route,
  matches: new RegExp(`^${route.pattern.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}/?$`),
}));

/** Throws when the admin API has answered something else than the route says. */
export function checkAdminAnswer(method: string, target: string, { status, text, json }: Answer): void {
  const path = target.split('?')[0] as string;
  if (!path.startsWith(ADMIN_PREFIX) || status >= 300) return;
  const route = MATCHERS.find((one) => one.route.method === method && one.matches.test(path))?.route;
  if (route === undefined) return;
  if (route.answer === NOTHING || status === 204) {
    if (route.answer !== NOTHING || status !== 204 || text !== '')
      throw new Error(`${method} ${path}: ${status} ${text}`);
    return;
  }
  const report = makeReport(json);
  checkShape(route.answer, structuredClone(json), report);
  const details = report.details();
  if (details.length > 0) throw new Error(`${routeName(route)} answers ${text}: ${JSON.stringify(details)}`);
}
