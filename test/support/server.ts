// A whole server in this process on a free port, over a fresh database: what the API tests talk to by real HTTP.
import { type App, makeApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { makeObserver } from '../../src/observer.ts';
import { checkDescribed } from './admin-document.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { noteAnswer } from './error-catalog.ts';
import { startDataCheck } from './openapi-conformance.ts';

export const ADMIN_KEY = 'operator-key-of-the-tests-0123456789';

export interface Call {
  readonly method?: string;
  readonly credential?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; a string or bytes as they are (set content-type yourself). */
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed body; undefined when it is empty or no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they expect it to be
  readonly json: any;
}

export interface TestClient {
  readonly url: string;
  call(path: string, call?: Call): Promise<Answer>;
  /** Creates an organization (unless there) and a workspace with the schema; gives a caller for it. */
  workspace(path: string, schema: unknown): Promise<TestWorkspace>;
}

export interface TestServer extends TestClient {
  readonly database: TestDatabase;
  /** The metrics as they are now. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

export interface TestWorkspace {
  /** `organization/workspace` */
  readonly path: string;
  readonly key: string;
  readonly readOnlyKey: string;
  readonly readWriteKey: string;
  /** Calls below /api/v1/{organization}/{workspace}/ with the owner's key unless another credential is given. */
  call(path: string, call?: Call): Promise<Answer>;
  /** Calls below the admin API of the workspace, as the operator unless another credential is given. */
  admin(path: string, call?: Call): Promise<Answer>;
  /** Creates records one by one; gives them as answered. */
  // biome-ignore lint/suspicious/noExplicitAny: records of any schema
  create(entity: string, records: readonly Record<string, unknown>[]): Promise<any[]>;
}

/** `env` overrides settings; `database` shares the database of another server (two processes of one installation). */
export async function startTestServer(
  env: Readonly<Record<string, string>> = {},
  database?: TestDatabase,
): Promise<TestServer> {
  const own = database ?? (await createTestDatabase());
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: own.url,
    WDA_ADMIN_KEY: ADMIN_KEY,
    WDA_DEMO: 'off',
    WDA_WORKERS: '1',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    ...env,
  });
  const observer = makeObserver(config, false);
  const app: App = makeApp(config, { connectionString: own.url }, observer);
  const port = await app.listen();
  await app.prepare();
  const url = `http://127.0.0.1:${port}`;

  return {
    ...clientOf(url),
    database: own,
    metrics: () => observer.metrics(),
    async stop() {
      await app.close(1000);
      if (database === undefined) await own.drop();
    },
  };
}

/** Calls to a server, wherever it runs. */
export function clientOf(url: string): TestClient {
  const call = async (path: string, options: Call = {}): Promise<Answer> => {
    const checkData = startDataCheck(url, path, options);
    const answer = await send(`${url}${path}`, options);
    checkDescribed(options.method ?? 'GET', path, answer);
    await checkData(answer);
    return answer;
  };
  return {
    url,
    call,
    async workspace(path, schema) {
      const [organization = '', slug = ''] = path.split('/');
      const operator = (target: string, options: Call = {}): Promise<Answer> =>
        call(`/api/admin/v1${target}`, { credential: ADMIN_KEY, ...options });
      const made = await operator('/organizations', {
        method: 'POST',
        body: { slug: organization, name: organization },
      });
      if (made.status !== 201 && made.status !== 409) throw new Error(`organization: ${made.status} ${made.text}`);
      const base = `/organizations/${organization}/workspaces`;
      expect(201, await operator(base, { method: 'POST', body: { slug, name: slug, schema } }));
      const keyOf = async (permissions: string): Promise<string> => {
        const answer = await operator(`${base}/${slug}/api-keys`, {
          method: 'POST',
          body: { name: permissions, permissions },
        });
        return expect(201, answer).json.data.key;
      };
      const key = await keyOf('OWNER');
      const data = (target: string, options: Call = {}): Promise<Answer> =>
        call(`/api/v1/${path}/${target}`, { credential: key, ...options });
      return {
        path,
        key,
        readOnlyKey: await keyOf('READ_ONLY'),
        readWriteKey: await keyOf('READ_WRITE'),
        call: data,
        admin: (target, options = {}) => operator(`${base}/${slug}/${target}`, options),
        async create(entity, records) {
          const created = [];
          for (const body of records) created.push(expect(201, await data(entity, { method: 'POST', body })).json.data);
          return created;
        },
      };
    },
  };
}

function expect(status: number, answer: Answer): Answer {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`);
  return answer;
}

/** Sends a request without comparing its answer with the document of the API. */
export async function send(url: string, { method = 'GET', credential, headers = {}, body }: Call): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    headers: {
      ...(credential === undefined || credential === null ? {} : { authorization: `Bearer ${credential}` }),
      ...(body === undefined || isRaw ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  noteAnswer(text);
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
