// Checks the shape of a JSON document against its definition: Ajv's results in our words. Reports the mistakes of a
// value and returns the value without them, so that later checks find only members of the right form.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';
import { type DetailCode, listNames, shorten } from '../errors.ts';
import { numberText } from '../model/exact-json.ts';
import { LANGUAGE_PATTERN, ROLE_PATTERN, SLUG_PATTERN } from './format.ts';
import { hint, type Path, type Report } from './report.ts';

interface Mistake {
  readonly path: Path;
  readonly code: DetailCode;
  readonly message: string;
}

const validators = new WeakMap<TSchema, ValidateFunction>();

/** Compiles at the first use: 20 ms that a start need not wait for. */
function compileValidator(shape: TSchema): ValidateFunction {
  let validator = validators.get(shape);
  if (validator === undefined) {
    validator = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true, strict: true }).compile(shape);
    validators.set(shape, validator);
  }
  return validator;
}

/**
 * Reports mistakes in the form of `value`, a copy without raw numbers (see plainNumbers), at paths below `prefix`, and
 * changes it in place: members of the wrong form are removed, except entries of `keeps`, which become `{}`, as other
 * parts may refer to their names. When the report becomes full the rest stays as it is.
 */
export function checkShape(
  shape: TSchema,
  value: unknown,
  report: Report,
  prefix: Path = [],
  keeps: (path: Path) => boolean = () => false,
): void {
  const wideObject = findWideObject(value, []);
  if (wideObject !== undefined) {
    report([...prefix, ...wideObject], 'TOO_LONG', `must have at most ${MAX_MEMBERS} members`);
    cut(value, wideObject, keeps(wideObject));
    if (wideObject.length === 0) return;
  }
  const validate = compileValidator(shape);
  if (validate(value)) return;
  for (const error of validate.errors ?? []) {
    // Callers check isFull() and do not read the rest, which is unchecked.
    if (report.isFull()) return;
    const mistake = translate(error, report, prefix);
    if (mistake === undefined) continue;
    report([...prefix, ...mistake.path], mistake.code, mistake.message);
    if (mistake.code !== 'REQUIRED' && error.keyword !== 'propertyNames') cut(value, mistake.path, keeps(mistake.path));
  }
}

// Most members of one object or list: more than any shape allows. Reporting 70,000 mistakes took 0.4 s.
const MAX_MEMBERS = 2000;
// Below a field is its default, which may be any JSON value.
const MAX_DEPTH = 4;

/** Returns the path of the first object or list with too many members. */
function findWideObject(value: unknown, path: Path): Path | undefined {
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return undefined;
  const keys = Object.keys(value);
  if (keys.length > MAX_MEMBERS) return path;
  for (const key of keys) {
    const wideObject = findWideObject((value as Record<string, unknown>)[key], [...path, key]);
    if (wideObject !== undefined) return wideObject;
  }
  return undefined;
}

function translate(error: ErrorObject, report: Report, prefix: Path): Mistake | undefined {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const at = (code: DetailCode, message: string): Mistake => ({ path, code, message });
  const { params } = error;
  switch (error.keyword) {
    case 'type': {
      const types = [params.type as string | string[]].flat();
      return at('TYPE_MISMATCH', `must be ${types.map((type) => TYPE_LABELS[type] ?? type).join(' or ')}`);
    }
    case 'required': {
      const missing = String(params.missingProperty);
      return { path: [...path, missing], code: 'REQUIRED', message: 'is required' };
    }
    case 'additionalProperties': {
      const name = String(params.additionalProperty);
      const members = Object.keys((error.parentSchema as { properties?: object }).properties ?? {});
      const suggestion = report.suggest(name, members);
      if (suggestion !== undefined) report.misspelt([...prefix, ...path, suggestion]);
      return {
        path: [...path, name],
        code: 'UNKNOWN_FIELD',
        message: `is not known here.${hint(suggestion)} Known: ${listNames(members)}`,
      };
    }
    case 'enum': {
      const allowed = (params.allowedValues as readonly unknown[]).map(String);
      const suggestion = typeof error.data === 'string' ? hint(report.suggest(error.data, allowed)) : '';
      return at(
        'NOT_IN_ENUM',
        `must be one of ${allowed.join(', ')}${butIs(error.data)}${suggestion === '' ? '' : `.${suggestion}`}`,
      );
    }
    case 'propertyNames':
      return {
        path: [...path, String(params.propertyName)],
        code: 'INVALID',
        message: NAME_MESSAGE,
      };
    case 'pattern':
      if (error.propertyName !== undefined) return undefined;
      return at('INVALID', PATTERN_MESSAGES[params.pattern as string] ?? NAME_MESSAGE);
    case 'minimum':
      return at('OUT_OF_RANGE', `must be at least ${params.limit}`);
    case 'maximum':
      return at('OUT_OF_RANGE', `must be at most ${params.limit}`);
    case 'minLength':
    case 'minItems':
      return at('INVALID', 'must not be empty');
    case 'maxLength':
      return at('TOO_LONG', `must have at most ${params.limit} characters`);
    case 'maxItems':
    case 'maxProperties':
      return at('OUT_OF_RANGE', `must have at most ${params.limit} entries`);
    case 'uniqueItems':
      return at('INVALID', `must not hold the same entry twice (${params.j} and ${params.i})`);
    default:
      return at('INVALID', error.message ?? 'is not valid');
  }
}

/** Describes the actual value, if a few words suffice. */
function butIs(value: unknown): string {
  if (typeof value === 'string') return `, not ${value === '' ? '""' : shorten(value)}`;
  return typeof value === 'object' && value !== null ? '' : `, not ${String(value)}`;
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  null: 'null',
};

const NAME_MESSAGE = 'must be a name: a letter, then letters, digits or _, 63 at most';
const LANGUAGE_MESSAGE = 'must be the name of a configuration of the text search of PostgreSQL, such as english';
const SLUG_MESSAGE = 'must be a slug: letters a to z, digits and -, 63 at most, with a letter or digit at both ends';
const PATTERN_MESSAGES: Readonly<Record<string, string>> = {
  [SLUG_PATTERN]: SLUG_MESSAGE,
  [LANGUAGE_PATTERN]: LANGUAGE_MESSAGE,
  [ROLE_PATTERN]: 'must be a text of 1 to 100 characters without control characters',
};

/** Removes the member at `path` from `root`; entries of lists leave a hole, so that the others keep their place. */
function cut(root: unknown, path: Path, keepMember: boolean): void {
  let parent = root;
  for (const part of path.slice(0, -1)) {
    if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, part)) return;
    parent = (parent as Record<string, unknown>)[part];
  }
  const last = path.at(-1);
  if (last === undefined || typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, last)) return;
  const members = parent as Record<string, unknown>;
  if (keepMember) members[last] = {};
  else if (Array.isArray(parent)) members[last] = undefined;
  else delete members[last];
}

/** Copies the value, with plain numbers for those that keep their digits (model/exact-json.ts). */
export function plainNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const text = numberText(value);
  if (text !== undefined) return Number(text);
  if (Array.isArray(value)) return value.map(plainNumbers);
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) define(copy, key, plainNumbers(member));
  return copy;
}

/** Sets an own member whatever its name: plain assignment of `__proto__` would set the prototype. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}
