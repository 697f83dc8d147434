// Routes of the console. Each screen is a separate file that is loaded when it is opened.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { parseSearch, type Search, stringifySearch } from './address.ts';
import { ErrorScreen, NotFoundScreen } from './shell/error-screens.tsx';
import { Layout } from './shell/layout.tsx';
import { OwnerOnly } from './shell/owner-only.tsx';

const rootRoute = createRootRoute({ notFoundComponent: NotFoundScreen });

const validateSearch = (search: Record<string, unknown>): Search => search as Search;

/** Routes with the layout: navigation, banner and main. */
const framed = createRoute({ getParentRoute: () => rootRoute, id: 'framed', component: Layout, validateSearch });

/** Routes for owners of a workspace only. */
const administered = createRoute({ getParentRoute: () => framed, id: 'administered', component: OwnerOnly });

const login = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  component: lazyRouteComponent(() => import('./screens/login/screen.tsx'), 'Screen'),
});

// biome-ignore lint/suspicious/noExplicitAny: a screen is a component without properties, whatever its file
type ScreenFile = Promise<Record<'Screen', any>>;

const screen = <Path extends string>(path: Path, load: () => ScreenFile) =>
  createRoute({ getParentRoute: () => framed, path, component: lazyRouteComponent(load, 'Screen') });

const ownersScreen = <Path extends string>(path: Path, load: () => ScreenFile) =>
  createRoute({ getParentRoute: () => administered, path, component: lazyRouteComponent(load, 'Screen') });

const routeTree = rootRoute.addChildren([
  login,
  framed.addChildren([
    screen('/', () => import('./screens/start/screen.tsx')),
    screen('/server', () => import('./screens/server/screen.tsx')),
    screen('/$org', () => import('./screens/organization/screen.tsx')),
    // `-` is no slug.
    screen('/$org/-/members', () => import('./screens/members/organization-screen.tsx')),
    screen('/$org/-/schemas', () => import('./screens/shared-schemas/screen.tsx')),
    screen('/$org/-/schemas/$name', () => import('./screens/shared-schema/screen.tsx')),
    screen('/$org/-/schemas/$name/versions/$version', () => import('./screens/schema-version/screen.tsx')),
    screen('/$org/-/schemas/$name/publish', () => import('./screens/publish/screen.tsx')),
    screen('/$org/-/schemas/$name/rollouts/new', () => import('./screens/rollout-start/screen.tsx')),
    screen('/$org/-/schemas/$name/rollouts/$id', () => import('./screens/rollout/screen.tsx')),
    screen('/$org/$ws', () => import('./screens/workspace/screen.tsx')),
    screen('/$org/$ws/data/$entity', () => import('./screens/records/screen.tsx')),
    screen('/$org/$ws/data/$entity/import', () => import('./screens/import/screen.tsx')),
    screen('/$org/$ws/data/$entity/$id', () => import('./screens/record/screen.tsx')),
    screen('/$org/$ws/api/$entity', () => import('./screens/api/screen.tsx')),
    administered.addChildren([
      ownersScreen('/$org/$ws/import', () => import('./screens/import/screen.tsx')),
      ownersScreen('/$org/$ws/schema', () => import('./screens/schema/screen.tsx')),
      ownersScreen('/$org/$ws/schema/plan', () => import('./screens/plan/screen.tsx')),
      ownersScreen('/$org/$ws/migrations', () => import('./screens/migrations/screen.tsx')),
      ownersScreen('/$org/$ws/migrations/$id', () => import('./screens/migration/screen.tsx')),
      ownersScreen('/$org/$ws/access/keys', () => import('./screens/credentials/keys-screen.tsx')),
      ownersScreen('/$org/$ws/access/clients', () => import('./screens/credentials/clients-screen.tsx')),
      ownersScreen('/$org/$ws/access/members', () => import('./screens/members/workspace-screen.tsx')),
      ownersScreen('/$org/$ws/access/provider', () => import('./screens/provider/screen.tsx')),
      ownersScreen('/$org/$ws/access/rules', () => import('./screens/rules/screen.tsx')),
      ownersScreen('/$org/$ws/access/grants', () => import('./screens/grants/screen.tsx')),
      ownersScreen('/$org/$ws/access/grants/$entity', () => import('./screens/grants/editor-screen.tsx')),
      ownersScreen('/$org/$ws/webhooks', () => import('./screens/webhooks/screen.tsx')),
      ownersScreen('/$org/$ws/webhooks/new', () => import('./screens/webhooks/new-screen.tsx')),
      ownersScreen('/$org/$ws/webhooks/$id', () => import('./screens/webhooks/webhook-screen.tsx')),
      ownersScreen('/$org/$ws/activity', () => import('./screens/activity/screen.tsx')),
      ownersScreen('/$org/$ws/settings', () => import('./screens/settings/screen.tsx')),
    ]),
  ]),
]);

export function createAppRouter() {
  return createRouter({
    routeTree,
    basepath: '/console',
    parseSearch: parseSearch as (text: string) => Record<string, unknown>,
    stringifySearch: stringifySearch as (search: Record<string, unknown>) => string,
    defaultPreload: 'intent',
    defaultErrorComponent: ErrorScreen,
    scrollRestoration: true,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
