// What a file of tests needs while it runs: made before its tests, ended after them, the last one first. A value has its
// name from the beginning, so that no test file assigns; until it is there, asking it for anything is refused.
import { before } from 'node:test';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type DatabaseProxy, openProxy } from './database-proxy.ts';
import { assertAnswered } from './error-catalog.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import { startTestServer, type TestServer, type TestWorkspace } from './server.ts';
import { afterEachFile, perFile } from './test-file.ts';
import { type DefaultPermissions, makeUsers, type TokenOf } from './users.ts';

const state = perFile(() => ({
  ends: [] as (() => unknown)[],
  steps: Promise.resolve() as Promise<unknown>,
  isSkipped: false,
}));

/**
 * Ends what the file has made, whichever group asked: what one group has made may stand on what the file has. Fails when
 * a refusal that stands beside the file's name was not met.
 */
async function endFile(): Promise<void> {
  for (const end of state().ends.reverse()) await end();
  assertAnswered();
}

afterEachFile(endFile);

/** A step before the tests of the file: after those that stand above it. The runner would begin all steps at once. */
export function prepare(step: () => unknown): void {
  before(() => {
    const file = state();
    if (file.isSkipped) return;
    file.steps = file.steps.then(step);
    return file.steps;
  });
}

/** Leaves out every step of the file, for one whose tests are all skipped. */
export function skipSteps(): void {
  state().isSkipped = true;
}

/** What `make` gives, once the tests of the file run. */
export function use<T extends object>(make: () => Promise<T>, end: (made: T) => unknown = () => undefined): T {
  let made: T | undefined;
  prepare(async () => {
    const value = await make();
    made = value;
    state().ends.push(() => end(value));
  });
  const there = (): T => {
    if (made === undefined) throw new Error('this is made before the tests run, not while they are registered');
    return made;
  };
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(there(), name),
    has: (_, name) => Reflect.has(there(), name),
    ownKeys: () => Reflect.ownKeys(there()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(there(), name),
  });
}

/** A server; with `over`, on the database of another server, or behind a proxy. */
export function useServer(
  env: Readonly<Record<string, string>> = {},
  over?: { readonly database: TestDatabase },
): TestServer {
  return use(
    () => startTestServer(env, over?.database),
    (server) => server.stop(),
  );
}

export function useDatabase(): TestDatabase {
  return use(createTestDatabase, (database) => database.drop());
}

/** A wire to the database that can be cut, counted and listened to. */
export function useDatabaseProxy(database: TestDatabase): DatabaseProxy {
  return use(
    () => openProxy(database),
    async (proxy) => {
      proxy.restore();
      await proxy.close();
    },
  );
}

export function useIssuer(): Issuer {
  return use(
    () => startIssuer(),
    (issuer) => issuer.stop(),
  );
}

/** Users of the workspace: tokens with any claims, as its identity provider signs them. */
export function useUsers(workspace: TestWorkspace, issuer: Issuer, permissions?: DefaultPermissions): TokenOf {
  const users = use(async () => ({ tokenOf: await makeUsers(workspace, issuer, permissions) }));
  return (claims) => users.tokenOf(claims);
}
