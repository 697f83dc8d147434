// Writes the pages of the API: the OpenAPI documents of the admin API and of the demo workspace, shown by Scalar from a file
// of the site.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEMO_SCHEMA } from '../src/bootstrap/demo.ts';
import { NO_NAMES } from '../src/model/physical-name.ts';
import { adminDocument } from '../src/openapi/admin.ts';
import { generateDocument } from '../src/openapi/document.ts';
import { parseSchemaDocument } from '../src/schema/document.ts';
import { makeWorkspace } from '../src/store/load-workspace.ts';
import { OPERATIONS } from '../test/support/admin-routes.ts';

const ADDRESS = 'http://localhost:3000';
const VIEWER = join(import.meta.dirname, 'node_modules/@scalar/api-reference/dist/browser/standalone.js');

/** The document of demo/shop as its owner gets it. */
function describeDemo(): string {
  const parsed = parseSchemaDocument(DEMO_SCHEMA);
  if (!parsed.ok) throw new TypeError(JSON.stringify(parsed.details));
  const workspace = makeWorkspace({
    id: '1',
    organization: 'demo',
    slug: 'shop',
    name: 'Demo shop',
    version: '1',
    databaseSchema: 'ws1_shop',
    names: NO_NAMES,
    entityIds: {},
    gates: {},
    document: parsed.document,
  });
  const facts = {
    publicUrl: ADDRESS,
    tokenUrl: `${ADDRESS}/oauth/token`,
    maxPageSize: 1000,
    maxBulk: 1000,
    maxBatch: 100,
  };
  const request = { selection: 'free', entities: undefined } as const;
  return [...generateDocument(workspace, { kind: 'owner', mayWrite: true }, request, facts)].join('');
}

const START = `const { document: url } = document.body.dataset;
Scalar.createApiReference('#view', {
  url,
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideTestRequestButton: true,
  hideClientButton: true,
  documentDownloadType: 'direct',
});
`;

const pageText = (title: string, name: string, base: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} | Workspace Data API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}api/view.css">
</head>
<body data-document="${base}api/${name}.json">
<header><a href="${base}">Workspace Data API: documentation</a> <span>${title}</span></header>
<div id="view"></div>
<script src="${base}api/scalar.js"></script>
<script src="${base}api/start.js"></script>
</body>
</html>
`;

const STYLE = `body { margin: 0; font-family: system-ui, sans-serif }
header { padding: 10px 20px; border-bottom: 1px solid #8884; font-size: 14px }
header a { color: #3b5bdb }
header span { color: #777; margin-left: 12px }
`;

/** Writes the folder `api/` below `target`, the folder of files that the site serves as they are. */
export function writeApiPages(target: string, base: string): void {
  const folder = join(target, 'api');
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write('admin.json', JSON.stringify(adminDocument(OPERATIONS, ADDRESS)));
  write('demo-shop.json', describeDemo());
  write('admin.html', pageText('Admin API', 'admin', base));
  write('demo-shop.html', pageText('Data API of the workspace demo/shop', 'demo-shop', base));
  write('view.css', STYLE);
  write('start.js', START);
  copyFileSync(VIEWER, join(folder, 'scalar.js'));
}
