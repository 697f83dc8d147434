// Serves the pages of the helpdesk at http://127.0.0.1:4001, and the provider for trying at port 4000.
//
//   npm run helpdesk      # WDA_URL, WDA_WORKSPACE: the workspace; STATUS_KEY: the key that stands in the status page
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { AUDIENCE, CLIENT_ID, startProvider } from './provider.ts';

const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const FILES = [
  'agent.html',
  'agent.js',
  'customer.html',
  'customer.js',
  'helpdesk.js',
  'status.html',
  'status.js',
  'style.css',
];

export interface Options {
  /** Ports of the provider and of the pages; 0: any free one. */
  readonly providerPort: number;
  readonly pagesPort: number;
  /** URL of the workspace: …/api/v1/organization/workspace */
  readonly getApi: () => string;
  readonly getStatusKey: () => string;
}

/** Starts the provider and the pages. */
export async function startHelpdesk({ providerPort, pagesPort, getApi, getStatusKey }: Options) {
  const pages = createServer(async ({ url = '/' }, response) => {
    const name = url.split('?')[0]?.slice(1) ?? '';
    if (name === 'config.js') {
      const config = { api: getApi(), issuer, clientId: CLIENT_ID, resource: AUDIENCE, statusKey: getStatusKey() };
      response.setHeader('content-type', 'text/javascript').end(`export const config = ${JSON.stringify(config)};`);
    } else if (FILES.includes(name)) {
      const text = await readFile(join(import.meta.dirname, name));
      response.setHeader('content-type', `${TYPES[extname(name)]}; charset=utf-8`).end(text);
    } else response.writeHead(404).end();
  });
  const { issuer, server: provider } = await startProvider(providerPort, () => [
    `${url}/agent.html`,
    `${url}/customer.html`,
  ]);
  await new Promise<void>((resolve, reject) => {
    pages.once('error', reject).listen(pagesPort, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  return {
    issuer,
    url,
    close() {
      for (const server of [pages, provider]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

if (import.meta.main) {
  const { WDA_URL = 'http://localhost:3000', WDA_WORKSPACE = 'acme/helpdesk', STATUS_KEY = '' } = process.env;
  const { url } = await startHelpdesk({
    providerPort: 4000,
    pagesPort: 4001,
    getApi: () => `${WDA_URL}/api/v1/${WDA_WORKSPACE}`,
    getStatusKey: () => STATUS_KEY,
  });
  for (const page of ['agent', 'customer', 'status']) console.log(`${url}/${page}.html`);
}
