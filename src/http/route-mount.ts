// A table of routes as a mount: finds the route of a request, gives it the request's parts, refuses other methods.
import makeRouter from 'find-my-way';
import { badRequest, methodNotAllowed, unknownParameter, unsupportedMediaType } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { isJsonType } from '../request/body.ts';
import { parseQueryString } from '../request/query-string.ts';
import { jsonValue } from './json-body.ts';
import { type Mount, UNKNOWN, USUAL_REFUSALS } from './mount.ts';
import type { RawRequest } from './raw-request.ts';
import type { Route, RouteRequest } from './routes.ts';

export interface RouteMountOptions {
  /** Whether the server must be ready before its routes are used. */
  readonly readyFirst: boolean;
  /** A JSON body beyond it is refused with 413. */
  readonly maxBodyBytes: number;
}

interface Found {
  /** Null when a part of the path is longer than any name. */
  readonly route: Route | null;
  readonly params: RouteRequest['params'];
}

const MAX_NAME_LENGTH = 200;

/** Takes all URLs at which a route answers any method. HEAD is answered like GET. */
export function routeMount(routes: readonly Route[], { readyFirst, maxBodyBytes }: RouteMountOptions): Mount {
  const find = makeFind(routes);
  const methods = [...new Set(routes.map(({ method }) => method))];
  const methodOf = (asked: string) => methods.find((method) => method === (asked === 'HEAD' ? 'GET' : asked));
  const foundFor = (asked: string, url: string): Found | undefined => {
    const method = methodOf(asked);
    return method === undefined ? undefined : find(method, url);
  };
  return {
    ...USUAL_REFUSALS,
    readyFirst,
    operations: routes,
    matches: (url) => methods.some((method) => find(method, url) !== undefined),
    operationOf(asked, url) {
      const { method, pattern } = foundFor(asked, url)?.route ?? {};
      return pattern === undefined ? UNKNOWN : `${method} ${pattern}`;
    },
    async handle(raw) {
      const found = foundFor(raw.method, raw.path);
      if (found?.route === null) throw badRequest('The path is malformed');
      if (found !== undefined) return found.route.handle(requestOf(raw, found.route, found.params, maxBodyBytes));
      const others = routes.filter((route) => find(route.method, raw.path)?.route === route);
      throw methodNotAllowed(raw.method, [...new Set(others.map(({ method }) => method))]);
    },
  };
}

/** The look-up of routes by method and URL. */
function makeFind(routes: readonly Route[]): (method: Route['method'], url: string) => Found | undefined {
  const nothing = (): void => undefined;
  const router = makeRouter({
    caseSensitive: true,
    ignoreTrailingSlash: true,
    maxParamLength: MAX_NAME_LENGTH,
    // Gives a match without a route.
    onMaxParamLength: nothing,
    querystringParser: nothing,
  });
  for (const route of routes) router.on(route.method, route.pattern, nothing, route);
  return (method, url) => {
    const found = router.find(method, url);
    return found === null ? undefined : { route: found.store, params: found.params as RouteRequest['params'] };
  };
}

function requestOf(
  raw: RawRequest,
  { describe }: Route,
  params: RouteRequest['params'],
  maxBodyBytes: number,
): RouteRequest {
  let value: Promise<unknown> | undefined;
  return {
    id: raw.id,
    params,
    query: () => parametersOf(raw.query, Object.keys(describe.query)),
    credential: raw.credential,
    ifNoneMatch: raw.headers['if-none-match'],
    ifMatch: raw.headers['if-match'],
    body() {
      value ??= jsonOf(raw, maxBodyBytes);
      return value;
    },
    upload(mediaType) {
      if (raw.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== mediaType)
        throw unsupportedMediaType(mediaType);
      return raw.stream();
    },
    caller: raw.caller,
  };
}

async function jsonOf(raw: RawRequest, maxBytes: number): Promise<unknown> {
  const bytes = await raw.body(maxBytes);
  if (bytes.length === 0) return undefined;
  if (!isJsonType(raw.headers['content-type'])) throw unsupportedMediaType('application/json');
  return jsonValue(bytes, raw);
}

function parametersOf(query: string, known: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const { name, value } of parseQueryString(query)) {
    if (known.includes(name)) values.set(name, [...(values.get(name) ?? []), value]);
    else if (!name.startsWith('_')) throw unknownParameter(name, closest(name, known), known);
  }
  return values;
}
