// The OpenAPI document of what is served outside the data API, and answers held against it: whatever a test gets there,
// the document has said so.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { adminDocument } from '../../src/openapi/admin.ts';
import type { Operation } from '../../src/openapi/operation.ts';
import { OPERATIONS } from './admin-routes.ts';
import type { Answer } from './server.ts';

const ADDRESS = 'http://localhost:3000';
export const ADMIN_DOCUMENT = adminDocument(OPERATIONS, ADDRESS);

/** Ajv that knows the formats of the document. */
export const makeValidator = (): Ajv2020 =>
  new Ajv2020({
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    allErrors: true,
    formats: {
      int64: { type: 'number', validate: Number.isInteger },
      'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/,
    },
  });

const ID = 'admin.json';
// As a whole the document is no schema: its members are no keywords.
const validator = makeValidator()
  .addVocabulary(Object.keys(ADMIN_DOCUMENT))
  .addSchema(ADMIN_DOCUMENT, ID, false, false);
const validators = new Map<string, ValidateFunction>();

/** What stands in the way of the value being as a part of the document says; undefined: nothing. */
export function mistakesOf(value: unknown, ...place: readonly string[]): string | undefined {
  const pointer = place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  let validate = validators.get(pointer);
  if (validate === undefined) {
    validate = validator.compile({ $ref: `${ID}#/${pointer}` });
    validators.set(pointer, validate);
  }
  return validate(value) ? undefined : validator.errorsText(validate.errors, { dataVar: '' });
}

export const pathOf = ({ pattern }: Operation): string => pattern.replaceAll(/:(\w+)/g, '{$1}');

/** Where the schema of a content is. */
export const answerPlace = (operation: Operation, status: number, type: string): readonly string[] => [
  ...['paths', pathOf(operation), operation.method.toLowerCase()],
  ...['responses', String(status), 'content', type, 'schema'],
];

const MATCHERS = OPERATIONS.map((operation) => ({
  operation,
  matches: new RegExp(`^${operation.pattern.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}/?$`),
}));

/** The operation that answers; undefined where there is none, and in the data API. */
function operationAt(method: string, path: string): Operation | undefined {
  const asked = method === 'HEAD' ? 'GET' : method;
  return MATCHERS.find(({ operation, matches }) => operation.method === asked && matches.test(path))?.operation;
}

/** Throws when something was answered that the document does not say. */
export function checkDescribed(method: string, target: string, answer: Answer): void {
  const path = target.split('?')[0] as string;
  const operation = operationAt(method, path);
  if (operation === undefined || method === 'HEAD') return;
  const mistake = answer.status < 400 ? answerMistake(operation, answer) : refusalMistake(operation, answer);
  if (mistake !== undefined) throw new Error(`${method} ${path}: ${mistake}: ${answer.status} ${answer.text}`);
}

function answerMistake(operation: Operation, { status, headers, text, json }: Answer): string | undefined {
  const content = operation.describe.responses[status];
  if (content === undefined) return 'the status is not described';
  if (content === null) return text === '' ? undefined : 'no body is described';
  const { type = 'application/json' } = content;
  if (!headers.get('content-type')?.startsWith(type)) return `the body is not ${type}`;
  return mistakesOf(type.endsWith('json') ? json : text, ...answerPlace(operation, status, type));
}

function refusalMistake({ describe }: Operation, { status, json }: Answer): string | undefined {
  const { errors: refusals, errorFormat: refusesAs = 'api' } = describe;
  const code = refusesAs === 'api' ? json?.error?.code : json?.error;
  if (!refusals.some((one) => one.status === status && one.code === code)) return 'the refusal is not described';
  return mistakesOf(json, 'components', 'schemas', refusesAs === 'api' ? 'wda.Error' : 'OAuthError');
}
