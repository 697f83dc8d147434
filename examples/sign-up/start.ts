// Serves the page where customers sign up, at http://127.0.0.1:4002.
//
//   npm run sign-up      # WDA_URL, WDA_KEY: the server and the operator's key; README.md has the other variables
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fetchUsage, isPlan, type Settings, signUp } from './sign-up.ts';

const FILES: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/style.css': ['style.css', 'text/css; charset=utf-8'],
};
const MAX_BODY_BYTES = 2_000;
const MAX_NAME_LENGTH = 100;
const HOUR_MS = 3_600_000;

export interface Options extends Settings {
  /** 0: any free one. */
  readonly port: number;
  /** Workspaces that everybody together may make in an hour. */
  readonly maxSignUpsPerHour: number;
}

/** Starts the page. */
export async function startSignUp(options: Options) {
  const times: number[] = [];

  async function answerSignUp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A page elsewhere may send a form without asking, but no JSON.
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
      return reply(response, 415, { error: 'Send JSON' });
    const body = await readBody(request);
    const company = typeof body?.company === 'string' ? body.company.trim() : '';
    if (company === '' || company.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(company))
      return reply(response, 400, { error: `The name of your company has 1 to ${MAX_NAME_LENGTH} characters` });
    const plan = body?.plan;
    if (!isPlan(plan)) return reply(response, 400, { error: 'Choose a plan' });
    const now = Date.now();
    while ((times[0] ?? now) < now - HOUR_MS) times.shift();
    if (times.length >= options.maxSignUpsPerHour)
      return reply(response, 429, { error: 'Many customers sign up just now: please try again later' });
    times.push(now);
    reply(response, 201, await signUp(options, company, plan));
  }

  async function answerUsage(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { authorization } = request.headers;
    const workspace = url.searchParams.get('workspace') ?? '';
    if (authorization === undefined || workspace === '')
      return reply(response, 401, { error: 'Usage needs a workspace and its key' });
    const answer = await fetchUsage(options, workspace, authorization);
    if (answer.ok) return reply(response, 200, ((await answer.json()) as { readonly data: unknown }).data);
    // A wrong workspace and a wrong key are told in the same words.
    if (answer.status < 500) return reply(response, 401, { error: 'No workspace has this name and this key' });
    throw new Error(`${answer.status} ${await answer.text()}`);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const route = `${request.method} ${url.pathname}`;
    const [name, type] = FILES[url.pathname] ?? [];
    if (route === 'POST /sign-ups') await answerSignUp(request, response);
    else if (route === 'GET /usage') await answerUsage(request, response, url);
    else if (request.method === 'GET' && name !== undefined && type !== undefined)
      response
        .setHeader('content-type', type)
        .setHeader('content-security-policy', "default-src 'self'; frame-ancestors 'none'")
        .end(await readFile(join(import.meta.dirname, name)));
    else reply(response, 404, { error: 'Nothing is here' });
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // Its reason is for the log: it may name what customers do not know.
      console.error(`${request.method} ${request.url}:`, error);
      if (response.headersSent) response.destroy();
      else reply(response, 502, { error: 'That did not work: please try again later' });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  // No cache keeps a key.
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body));
}

/** Reads a small JSON object; undefined for anything else. */
async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>> | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const { WDA_URL = 'http://localhost:3000', WDA_KEY = '', ORGANIZATION = 'customers', FOLLOWS } = process.env;
  const { ISSUER, AUDIENCE = 'https://product.example' } = process.env;
  const { url } = await startSignUp({
    port: 4002,
    url: WDA_URL,
    operatorKey: WDA_KEY,
    organization: ORGANIZATION,
    follows: FOLLOWS,
    provider: ISSUER === undefined ? undefined : { issuer: ISSUER, audience: AUDIENCE },
    maxSignUpsPerHour: 20,
  });
  console.log(url);
}
