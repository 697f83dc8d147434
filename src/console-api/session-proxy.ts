// Proxy of the console: /console/api/… runs the handlers of /api/… with the session in place of the Authorization
// header. Permissions are checked by the handlers for the principal of the session.
import { ApiError, notFound, sessionEnded } from '../errors.ts';
import type { RawRequest } from '../http/request.ts';
import { DEFAULT_ERROR_HANDLING, type Mount, UNKNOWN } from '../http/router.ts';
import type { Credential, SessionCredential } from '../model/credential.ts';
import { sessionNotHere, sessionOnly } from './errors.ts';
import { checkOrigin } from './same-origin.ts';
import type { SessionEndpoint } from './session.ts';

const CONSOLE = '/console';
/** Path of the page that reads the code of a link from the fragment. */
export const CONSOLE_LOGIN = `${CONSOLE}/login`;
const PROXY = `${CONSOLE}/api`;
const PROXY_PATTERN = /^\/console\/api(?:[/?]|$)/;
const SESSION_PATH = `${PROXY}/session`;

/** Forbids caching, and reading or embedding by pages of another origin. */
const OWN_HEADERS = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Cache-Control', 'no-store'],
  ...['Vary', 'Cookie'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

export interface SessionProxyOptions extends SessionEndpoint {
  /** Mounts of `/api/…`. */
  readonly mounts: readonly Mount[];
  /** Verifies the session; throws 401 when it has ended. */
  readonly verify: (session: SessionCredential) => Promise<unknown>;
  readonly publicUrl: string;
}

export function createSessionProxy({
  mounts,
  handleSession,
  findSession,
  verify,
  publicUrl,
}: SessionProxyOptions): Mount {
  const findMount = (url: string): Mount | undefined => {
    const inner = url.slice(CONSOLE.length);
    return mounts.find(({ matches }) => inner.startsWith('/api/') && matches(inner));
  };
  return {
    ...DEFAULT_ERROR_HANDLING,
    ownHeaders: OWN_HEADERS,
    readyFirst: true,
    // Described by the mounts of /api.
    operations: [],
    matches: (url) => PROXY_PATTERN.test(url),
    getGroup: (url) => findMount(url)?.getGroup?.(url.slice(CONSOLE.length)) ?? '',
    getOperationName(method, url) {
      if (method === 'OPTIONS') return UNKNOWN;
      if (isSessionPath(url)) return 'console session';
      return findMount(url)?.getOperationName(method, url.slice(CONSOLE.length)) ?? UNKNOWN;
    },
    async handle(raw) {
      const { method, path, headers } = raw;
      const inner = findMount(path);
      // OPTIONS is a preflight of a page of another origin, and none is allowed.
      if (method === 'OPTIONS' || (inner === undefined && !isSessionPath(path))) {
        throw notFound('PATH_NOT_FOUND', `There is nothing at ${path.slice(0, 200)}`);
      }
      if (headers.authorization !== undefined) throw sessionOnly();
      checkOrigin(method, path, headers, publicUrl);
      if (inner === undefined) return handleSession(raw);
      const credential = await findSession(headers.cookie);
      if (credential === undefined) throw sessionEnded();
      return inner.handle(toInnerRequest(raw, credential)).catch(async (error) => {
        if (error instanceof ApiError && error.status === 308) throw error.below(CONSOLE);
        if (!(error instanceof ApiError) || error.status !== 401) throw error;
        await verify(credential);
        throw sessionNotHere();
      });
    },
  };
}

const isSessionPath = (url: string): boolean => url.split('?')[0] === SESSION_PATH;

/** Builds the request for the handlers of /api. */
function toInnerRequest(raw: RawRequest, credential: Credential): RawRequest {
  const { id, arrivedAt, method, path, query, headers, address, signal, answerMemory } = raw;
  const { cookie, ...otherHeaders } = headers;
  return {
    ...{ id, arrivedAt, method, query, address, signal, answerMemory, credential },
    path: path.slice(CONSOLE.length),
    headers: otherHeaders,
    body: (maxBytes) => raw.body(maxBytes),
    stream: () => raw.stream(),
    get slices() {
      return raw.slices;
    },
  };
}
