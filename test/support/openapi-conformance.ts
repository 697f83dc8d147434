// Whether answers of the data API are as the OpenAPI document of their workspace describes them: status, media type, body.
// Every answer that the API tests get passes here (server.ts).
import assert from 'node:assert/strict';
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { ERROR_SCHEMAS } from '../../src/openapi/error-responses.ts';
import type { Answer, Call } from './server.ts';
import { perFile, testFile } from './test-file.ts';

/** Of the document, what this file looks at. */
export interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, AnySchemaObject>>>>;
}

type Responses = Readonly<Record<string, AnySchemaObject>>;

export interface Asked {
  readonly method: string;
  /** JSON of the request, if it is known. */
  readonly body?: unknown;
  /** Segments after the workspace, decoded. */
  readonly segments: readonly string[];
}

type Answered = Pick<Answer, 'status' | 'headers' | 'text'>;

/** Says what is wrong with an answer; undefined for nothing. */
export type Judge = (asked: Asked, answer: Answered) => string | undefined;

const FORMATS: Readonly<Record<string, RegExp | true>> = {
  int32: true,
  int64: true,
  double: true,
  decimal: true,
  uri: /^https?:\/\//,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
  'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z$/,
};

/** An Ajv that knows our formats and the words of OpenAPI. */
export function makeAjv(): Ajv2020 {
  // Columns may be named as members that every object has, such as constructor.
  const ajv = new Ajv2020({
    strict: true,
    ownProperties: true,
    strictRequired: false,
    allowUnionTypes: true,
    formats: FORMATS,
  });
  for (const word of ['x-wda', 'example', 'discriminator', 'components']) ajv.addKeyword(word);
  return ajv;
}

/** References into the document as references into the schema that has its schemas as `$defs`. */
const local = (part: unknown): AnySchemaObject =>
  JSON.parse(JSON.stringify(part).replaceAll('#/components/schemas/', '#/$defs/'));

/** Objects with properties have no others: what the document leaves out is found. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.fromEntries(
    // What stands under a column's name is a schema, whatever the name.
    Object.entries(schema).map(([name, value]) => [name, name === 'enum' ? value : closed(value)]),
  );
  return members.type === 'object' && 'properties' in members && !('additionalProperties' in members)
    ? { ...members, additionalProperties: false }
    : members;
}

// Of a long list so many records are looked at, and of longer texts nothing.
const MOST_RECORDS = 20;
const MOST_CHARACTERS = 4_000_000;

/** `document`: of the class of the principals whose answers it judges. */
export function makeJudge(document: Described): Judge {
  const ajv = makeAjv();
  const $defs = closed(local(document.components.schemas));
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (schema: AnySchemaObject): ValidateFunction => {
    const key = JSON.stringify(schema);
    const known = validators.get(key) ?? ajv.compile({ $defs, ...(closed(local(schema)) as AnySchemaObject) });
    validators.set(key, known);
    return known;
  };
  return (asked, answer) => {
    const operation = operationOf(document, asked);
    if (operation === undefined) {
      if (answer.status >= 400) return judgeError(answer);
      return isEmpty(asked, answer) || isUpsert(asked, answer) ? undefined : 'the operation is not described';
    }
    const named =
      operation.responses[answer.status] ?? (answer.status >= 400 ? operation.responses.default : undefined);
    if (named === undefined) return `status ${answer.status} is not described`;
    const response = named.$ref === undefined ? named : partAt(document, named.$ref);
    if (asked.method === 'HEAD' || answer.status === 304) return undefined;
    const undescribed = answer.status < 300 ? findUndescribedField(document, asked, answer) : undefined;
    if (undescribed !== undefined) return `the body is accepted, and ${undescribed} is not as it is described`;
    if (response.content === undefined) return answer.text === '' ? undefined : 'a body is not described';
    const type = (answer.headers.get('content-type') ?? '').split(';')[0] as string;
    const media = response.content[type];
    if (media === undefined) return `media type ${type} is not described`;
    return type === 'application/json' ? validate(validatorOf(media.schema), answer.text) : undefined;
  };
}

/** Finds a field of an accepted body that is not described, or one that should be required and was not given. */
function findUndescribedField({ components }: Described, { method, segments, body }: Asked, { status }: Answered) {
  const [entity = '', tail] = segments;
  const isCreate = method === 'POST' && (tail === undefined || tail === '_bulk');
  if (!(isCreate || method === 'PUT' || method === 'PATCH') || typeof body !== 'object' || body === null)
    return undefined;
  const schema = components.schemas?.[`${entity}.${isCreate ? 'Create' : 'Update'}`];
  const records: unknown = tail === '_bulk' ? (body as { readonly data?: unknown }).data : [body];
  if (schema === undefined || !Array.isArray(records)) return undefined;
  for (const record of records) {
    // Upserts and updates may name the id, and give less than a create; null is as good as a reference that is left out.
    const names = Object.keys(record).filter((name) => record[name] !== null);
    const unknown = names.find((name) => !['id', '$version'].includes(name) && !Object.hasOwn(schema.properties, name));
    const missing =
      isCreate && status === 201 ? schema.required?.find((name: string) => !names.includes(name)) : undefined;
    if (unknown !== undefined || missing !== undefined) return unknown ?? missing;
  }
  return undefined;
}

/** Whether a read shows nothing: who may not read the records of an entity gets none, and is described no read. */
function isEmpty({ method, segments }: Asked, { text }: Answered): boolean {
  const [, tail] = segments;
  if (!(method === 'GET' || method === 'HEAD' || tail === '_query' || tail === '_aggregate')) return false;
  if (tail === '_export') return text.trimEnd().split('\n').length === 1 && !text.startsWith('{');
  const data: unknown = text === '' ? [] : JSON.parse(text).data;
  return Array.isArray(data) && data.flatMap(Object.values).every((value) => value === null || value === 0);
}

/** Whether a create has found an existing record: who may not create records may change them so, and is described no create. */
const isUpsert = ({ method, segments }: Asked, { status }: Answered): boolean =>
  method === 'POST' && status === 200 && (segments.length === 1 || segments[1] === '_bulk');

const partAt = ({ components }: Described, reference: string): AnySchemaObject => {
  const [, , kind = '', name = ''] = reference.split('/');
  const part = components[kind]?.[name];
  assert.ok(part !== undefined, `${reference} leads nowhere`);
  return part;
};

function operationOf({ paths }: Described, { method, segments }: Asked): { responses: Responses } | undefined {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  const own = paths[`/${segments.join('/')}`];
  const [entity, , word, event] = segments;
  const rest = [...(word === undefined ? [] : [`/${word}`]), ...(event === undefined ? [] : ['/{event}'])].join('');
  const item = own ?? (segments.length > 1 ? paths[`/${entity}/{id}${rest}`] : undefined);
  return item?.[verb];
}

const isError = makeAjv().compile({
  $defs: closed(local(ERROR_SCHEMAS)),
  $ref: '#/$defs/wda.Error',
} as AnySchemaObject);

const judgeError = ({ text }: Answered): string | undefined => (text === '' ? undefined : validate(isError, text));

function validate(validator: ValidateFunction, text: string): string | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const value = JSON.parse(text, (_, part) =>
    // A double has no room for a decimal of 1,000 digits.
    part === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : part === Number.NEGATIVE_INFINITY ? -Number.MAX_VALUE : part,
  );
  if (Array.isArray(value.data)) value.data = value.data.slice(0, MOST_RECORDS);
  if (validator(value)) return undefined;
  const { instancePath, message, params } = validator.errors?.[0] ?? {};
  return `${instancePath} ${message} ${JSON.stringify(params)}`;
}

/** Chapters whose answers are judged; those of agents are not answers of the data API. */
const CHAPTERS = [
  'access',
  'admin',
  'description',
  'events',
  'operation',
  'reading',
  'requests',
  'transfer',
  'types',
  'writing',
];
const FOLDERS = ['/test/schema-changes/', ...CHAPTERS.map((chapter) => `/test/api/${chapter}/`)];
const state = perFile(() => ({
  isJudged: FOLDERS.some((folder) => testFile().includes(folder)),
  mostDocuments: 30,
  /** By server, workspace and who asks; undefined while there was none. */
  judges: new Map<string, Judge | undefined>(),
}));

/** For a test file that judging would disturb; the file says why. */
export function judgeNothing(): void {
  state().isJudged = false;
}

/** Looks at the answers to so many credentials of workspaces; of more, at those of the first ones. */
export function judgeUpTo(documents: number): void {
  state().mostDocuments = documents;
}

/** By entity tag. */
const byTag = new Map<string, Judge>();

async function judgeFor(workspaceUrl: string, authorization: string): Promise<Judge | undefined> {
  const response = await fetch(`${workspaceUrl}/_openapi.json`, { headers: { authorization } });
  const text = await response.text();
  if (response.status !== 200) return undefined;
  const tag = response.headers.get('etag') ?? '';
  const judge = byTag.get(tag) ?? makeJudge(JSON.parse(text));
  byTag.set(tag, judge);
  return judge;
}

const TIMES = ['exp', 'iat', 'nbf', 'jti'];

/**
 * Who gets one document: tokens by their claims without times, as a user in a test often has a new one for each request,
 * and a document that is fetched after the answer may be that of the next schema. Other credentials by themselves.
 */
function holderOf(authorization: string): string {
  const payload = /^Bearer [\w-]+\.([\w-]+)\.[\w-]+$/.exec(authorization)?.[1];
  if (payload === undefined) return authorization;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return JSON.stringify(claims, (name, value) => (TIMES.includes(name) ? undefined : value));
  } catch {
    return authorization;
  }
}

/**
 * Starts the check of a request that is about to be sent. The function that it returns fails when the document that the
 * sender gets does not describe the answer. Two answers that were made before and after a change of the schema may be checked
 * in the other order, so the document that held when the request was sent describes the answer, too.
 */
export function startDataCheck(base: string, path: string, call: Call): (answer: Answer) => Promise<void> {
  const { pathname, origin } = new URL(`${base}${path}`);
  const method = call.method ?? 'GET';
  const { isJudged, judges, mostDocuments } = state();
  if (!isJudged || !pathname.startsWith('/api/v1/') || method === 'OPTIONS') return async () => {};
  const authorization =
    call.headers?.authorization ?? ((call.credential ?? null) === null ? undefined : `Bearer ${call.credential}`);
  const [, , , organization, workspace, ...rest] = pathname.split('/');
  if (rest.at(-1) === '') rest.pop();
  const asked: Asked = { method, segments: rest.map(decoded), body: call.body };
  const url = `${origin}/api/v1/${organization}/${workspace}`;
  const key = `${url} ${authorization === undefined ? '' : holderOf(authorization)}`;
  const before = judges.get(key);
  return async (answer) => {
    if (answer.status === 401 || authorization === undefined)
      return assert.equal(judgeError(answer), undefined, answer.text);
    if (!judges.has(key) && judges.size >= mostDocuments) return;
    const isDescribedBy = (judge: Judge | undefined): boolean =>
      judge !== undefined && judge(asked, answer) === undefined;
    const known = judges.get(key);
    if (isDescribedBy(known) || (before !== known && isDescribedBy(before))) return;
    // The first one, or the schema has changed since.
    const judge = await judgeFor(url, authorization);
    judges.set(key, judge);
    const mistake = judge?.(asked, answer);
    assert.equal(
      mistake,
      undefined,
      `${method} ${pathname}: ${mistake}: ${answer.status} ${answer.text.slice(0, 2000)}`,
    );
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
