// Snippets of a request for tools, which "Copy as" copies. They contain no credential, only the name of one. Pure.

/** Request of the data API as a screen sends it. */
export interface Call {
  readonly origin: string;
  /** Path `organization/workspace`. */
  readonly workspace: string;
  readonly entity: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the entity: ``, `/17`, `/_export`. */
  readonly rest: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** JSON text. */
  readonly body?: string | undefined;
}

/** Request of the admin API: only tools that can send any request support it. */
export interface AdminCall {
  readonly origin: string;
  readonly method: Call['method'];
  /** Path below the origin. */
  readonly path: string;
  /** JSON text. */
  readonly body?: string | undefined;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Local file that is sent as the body. */
  readonly file?: { readonly name: string; readonly type: string };
  /** Command that sends it, if there is one. */
  readonly wda?: string;
}

/** Creates the request by which an administrator gets the response of a user with these claims, which are JSON text. */
export function createCallAsUser(call: Call, claims: string): AdminCall {
  const [organization = '', workspace = ''] = call.workspace.split('/');
  const path = JSON.stringify(buildUrl(call).slice(`${call.origin}/api/v1/${call.workspace}/`.length));
  const body = call.body === undefined ? '' : `,"body":${call.body}`;
  return {
    origin: call.origin,
    method: 'POST',
    path: `/api/admin/v1/organizations/${organization}/workspaces/${workspace}/access/test`,
    body: `{"claims":${claims},"requests":[{"path":${path}${body}}]}`,
  };
}

export const TOOLS = ['curl', 'fetch', 'TypeScript', 'Python', 'wda'] as const;
export type Tool = (typeof TOOLS)[number];

/**
 * Prints a snippet for requests that are sent one after the other, or undefined if the tool does not support one of
 * them.
 */
export function printSnippets(tool: Tool, calls: readonly (Call | AdminCall)[]): string | undefined {
  const texts = calls.map((call) => printSnippet(tool, call));
  if (texts.length === 0 || texts.includes(undefined)) return undefined;
  // A block for each program in JavaScript, so that their names do not collide.
  return texts.length > 1 && (tool === 'fetch' || tool === 'TypeScript')
    ? texts.map((text) => `{\n${text}\n}`).join('\n')
    : texts.join('\n');
}

/** Prints the snippet of a tool, or undefined if it does not support the request. */
export function printSnippet(tool: Tool, call: Call | AdminCall): string | undefined {
  switch (tool) {
    case 'curl':
      return printCurl(call);
    case 'fetch':
      return printFetch(call);
    case 'TypeScript':
      return 'path' in call ? undefined : printTypeScript(call);
    case 'Python':
      return printPython(call);
    case 'wda':
      return 'path' in call ? call.wda : printWda(call);
    default:
      return tool satisfies never;
  }
}

export function buildUrl({ origin, workspace, entity, rest, query }: Call): string {
  const parameters = new URLSearchParams(query.map(([name, value]) => [name, value])).toString().replaceAll('%2C', ',');
  return `${origin}/api/v1/${workspace}/${encodeURIComponent(entity)}${rest}${parameters === '' ? '' : `?${parameters}`}`;
}

/** Quotes a word for a POSIX shell. */
export const quoteShell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const buildAnyUrl = (call: Call | AdminCall): string => ('path' in call ? call.origin + call.path : buildUrl(call));

function printCurl(call: Call | AdminCall): string {
  const method = call.method === 'GET' ? '' : ` -X ${call.method}`;
  const body = call.body === undefined ? '' : ` \\\n  -H 'Content-Type: application/json' -d ${quoteShell(call.body)}`;
  const file = getFile(call);
  const bytes = file === undefined ? '' : ` \\\n  --data-binary ${quoteShell(`@${file.name}`)}`;
  const headers = listHeaders(call).map(([name, value]) => ` \\\n  -H ${quoteShell(`${name}: ${value}`)}`);
  return `curl${method} -H "Authorization: Bearer $WDA_KEY"${headers.join('')}${body}${bytes} \\\n  ${quoteShell(buildAnyUrl(call))}`;
}

const getFile = (call: Call | AdminCall) => ('path' in call ? call.file : undefined);

function listHeaders(call: Call | AdminCall): readonly (readonly [name: string, value: string])[] {
  const file = getFile(call);
  const own = 'path' in call ? (call.headers ?? []) : [];
  return file === undefined ? own : [...own, ['Content-Type', file.type]];
}

// Placeholder of the copied program, not of this one.
const BEARER = 'Authorization: `Bearer \u0024{process.env.WDA_KEY}`';

function printFetch(call: Call | AdminCall): string {
  const file = getFile(call);
  const headers = [
    BEARER,
    ...(call.body === undefined ? [] : ["'Content-Type': 'application/json'"]),
    ...listHeaders(call).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
  ];
  const lines = [
    ...(call.method === 'GET' ? [] : [`  method: '${call.method}',`]),
    `  headers: { ${headers.join(', ')} },`,
    ...(call.body === undefined ? [] : [`  body: ${JSON.stringify(call.body)},`]),
    ...(file === undefined ? [] : [`  body: await readFile(${JSON.stringify(file.name)}),`]),
  ];
  const head = file === undefined ? '' : "import { readFile } from 'node:fs/promises';\n\n";
  const rest = isText(call) ? 'await response.text()' : 'await response.json()';
  return `${head}const response = await fetch(${JSON.stringify(buildAnyUrl(call))}, {\n${lines.join('\n')}\n});\nconsole.log(response.status, ${rest});`;
}

/** True if the response is no JSON. */
const isText = (call: Call | AdminCall): boolean =>
  call.method === 'DELETE' || ('rest' in call && call.rest === '/_export');

/** Prints a program for Python's standard library. A text of JSON is one of Python, too. */
function printPython(call: Call | AdminCall): string {
  const file = getFile(call);
  const headers = [
    ...(call.body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
    ...listHeaders(call),
  ].map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return [
    ...(isText(call) ? [] : ['import json']),
    'import os',
    'from urllib.request import Request, urlopen',
    '',
    'request = Request(',
    `    ${JSON.stringify(buildAnyUrl(call))},`,
    ...(call.method === 'GET' ? [] : [`    method="${call.method}",`]),
    `    headers={"Authorization": "Bearer " + os.environ["WDA_KEY"]${headers.join('')}},`,
    ...(call.body === undefined ? [] : [`    data=${JSON.stringify(call.body)}.encode(),`]),
    ...(file === undefined ? [] : [`    data=open(${JSON.stringify(file.name)}, "rb").read(),`]),
    ')',
    'with urlopen(request) as response:',
    `    print(response.status, ${isText(call) ? 'response.read().decode()' : 'json.load(response)'})`,
  ].join('\n');
}

function printTypeScript(call: Call): string | undefined {
  const head = [
    "import { createClient } from 'workspace-data-client';",
    '',
    'const client = createClient({',
    `  url: ${JSON.stringify(call.origin)},`,
    `  workspace: ${JSON.stringify(call.workspace)},`,
    "  credential: process.env.WDA_KEY ?? '',",
    '});',
    `const entity = client.entity(${JSON.stringify(call.entity)});`,
  ].join('\n');
  const id = /^\/(\d+)$/.exec(call.rest)?.[1];
  const body = call.body ?? '{}';
  const past = parseHistoryCall(call);
  const line =
    past !== undefined
      ? past.event === undefined
        ? `const { data, meta } = await entity.history(${past.id});`
        : `const { data } = await entity.restore(${past.id}, ${JSON.stringify(past.event)});`
      : call.method === 'GET' && call.rest === ''
        ? printListCall(call)
        : call.method === 'GET' && id !== undefined
          ? `const { data, etag } = await entity.read(${id});`
          : call.method === 'POST' && call.rest === ''
            ? `const { data } = await entity.create(${body});`
            : call.method === 'DELETE' && id !== undefined
              ? `await entity.delete(${id});`
              : (call.method === 'PUT' || call.method === 'PATCH') && id !== undefined
                ? `const { data } = await entity.update(${id}, ${body});`
                : undefined;
  return line === undefined ? undefined : `${head}\n${line}${line.includes('data') ? '\nconsole.log(data);' : ''}`;
}

/** Returns the record whose history a call reads, or the event to which it restores the record; undefined for others. */
function parseHistoryCall({
  method,
  rest,
  query,
  body,
}: Call): { readonly id: string; readonly event?: string } | undefined {
  const [, id, word] = /^\/(\d+)\/_(history|restore)$/.exec(rest) ?? [];
  if (id === undefined || query.length > 0) return undefined;
  if (word === 'history') return method === 'GET' ? { id } : undefined;
  const { event } = JSON.parse(body ?? '{}') as { readonly event?: string };
  return method === 'POST' && event !== undefined ? { id, event } : undefined;
}

const OWN_NAMES = ['filter', 'or', 'sort', 'fields', 'expand'];

function printListCall({ query }: Call): string | undefined {
  const all = (name: string): string[] => query.filter(([one]) => one === name).map(([, value]) => value);
  // Only the other tools support filters of relations and parameters of the console.
  if (query.some(([name]) => name.includes('.'))) return undefined;
  const conditions = [
    ...all('filter').map((text) => printCondition(text, '')),
    ...all('or').map((group) => {
      const alternatives = [...group.matchAll(/(?:\\[\\;]|[^;])+/g)].map(([text]) => printCondition(text, ';'));
      return `{ $or: [${alternatives.join(', ')}] }`;
    }),
  ];
  const names = (name: string): string[] =>
    all(name)
      .flatMap((list) => list.split(','))
      .filter((one) => one !== '');
  const paths = names('fields');
  if (paths.some((path) => path.includes('.'))) return undefined;
  const parts = [
    ...(conditions.length === 0
      ? []
      : [`  filter: ${conditions.length === 1 ? conditions[0] : `{ $and: [${conditions.join(', ')}] }`},`]),
    ...(all('sort').length === 0 ? [] : [`  sort: ${JSON.stringify(all('sort'))},`]),
    ...(paths.length === 0 ? [] : [`  fields: ${JSON.stringify(paths)},`]),
    ...(names('expand').length === 0 ? [] : [`  expand: ${printExpansion(names('expand'))},`]),
    ...query
      .filter(([name]) => !OWN_NAMES.includes(name))
      .map(([name, value]) => `  ${printProperty(name)}: ${/^\d{1,9}$/.test(value) ? value : JSON.stringify(value)},`),
  ];
  return parts.length === 0
    ? 'const { data, meta } = await entity.list();'
    : `const { data, meta } = await entity.list({\n${parts.join('\n')}\n});`;
}

const printProperty = (name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) && name !== '__proto__' ? name : `[${JSON.stringify(name)}]`;

/** Prints the filter. `separator`: that of its group, which a backslash precedes in a value. */
function printCondition(text: string, separator: '' | ';'): string {
  const [, path = '', operator = 'eq', value = ''] = /^([^,]*),([^,]*)(?:,(.*))?$/s.exec(text) ?? [];
  const resolveEscapes = (part: string, escaped: string): string =>
    part.replace(/\\(.)/gs, (pair, character) => (escaped.includes(character) ? character : pair));
  const list = (): string[] =>
    [...value.matchAll(/(?:\\[\\,]|[^,])+/g)].map(([part]) => resolveEscapes(part, `\\,${separator}`));
  const isMany = /^(?:in|nin|between)$/.test(operator);
  const operand =
    operator === 'isNull' || operator === 'notNull'
      ? 'true'
      : JSON.stringify(isMany ? list() : separator === '' ? value : resolveEscapes(value, '\\;'));
  return path
    .split('.')
    .reduceRight((inner, name) => `{ ${printProperty(name)}: ${inner} }`, `{ ${operator}: ${operand} }`);
}

function printExpansion(paths: readonly string[]): string {
  const below = new Map<string, string[]>();
  for (const path of paths) {
    const [first = '', ...rest] = path.split('.');
    below.set(first, [...(below.get(first) ?? []), ...(rest.length === 0 ? [] : [rest.join('.')])]);
  }
  const parts = [...below].map(
    ([name, rest]) => `${printProperty(name)}: ${rest.length === 0 ? 'true' : `{ expand: ${printExpansion(rest)} }`}`,
  );
  return `{ ${parts.join(', ')} }`;
}

function printWda(call: Call): string | undefined {
  const where = ` -w ${quoteShell(call.workspace)} --url ${quoteShell(call.origin)}`;
  const past = parseHistoryCall(call);
  if (past !== undefined) {
    const command = past.event === undefined ? 'history' : 'restore-record';
    const words = [call.entity, past.id, ...(past.event === undefined ? [] : [past.event])].map(quoteShell);
    return `WDA_KEY="$WDA_KEY" wda ${command} ${words.join(' ')}${where}`;
  }
  if (call.method !== 'GET' || (call.rest !== '' && call.rest !== '/_export')) return undefined;
  const parameters = new Map<string, string[]>();
  for (const [name, value] of call.query) parameters.set(name, [...(parameters.get(name) ?? []), value]);
  // An export supports no alternatives, pages or expansions; then there is no snippet, rather than a wrong one.
  const names = ['filter', 'sort', 'fields', 'format', 'size', 'page', 'count', 'versions', 'preview', 'after'];
  if ([...parameters.keys()].some((name) => !names.includes(name))) return undefined;
  const options = ['filter', 'sort', 'fields'].flatMap((name) =>
    (parameters.get(name) ?? []).map((value) => ` --${name} ${quoteShell(value)}`),
  );
  return `WDA_KEY="$WDA_KEY" wda export ${quoteShell(call.entity)}${where}${options.join('')} --format ndjson`;
}
