// Reads the query string or the body of an operation by the table of parameters.
import { badRequest } from '../errors.ts';
import type { Input, RequestLimits } from './forms.ts';
import { readMembers } from './members.ts';
import { NARROWING_NAMES, parseNarrowings } from './narrowing.ts';
import { OPERATIONS, WORKSPACE_OPERATIONS } from './operations.ts';
import {
  type AnyOperationName,
  getParameterName,
  getParameters,
  PARAMETERS,
  type Parameter,
  type ParameterKey,
  type Values,
} from './parameters.ts';
import { collect } from './query-string.ts';
import { toUnknownParameter } from './unknown-parameter.ts';

export type { Values } from './parameters.ts';

interface ParameterSet {
  readonly names: readonly string[];
  readonly byName: readonly (readonly [name: string, parameter: Parameter<unknown>])[];
}

/** Parameters by operation; built once, as each request looks them up. */
const buildParameterSets = (where: 'query' | 'body'): ReadonlyMap<AnyOperationName, ParameterSet> =>
  new Map(ALL_OPERATIONS.map((operation) => [operation, makeParameterSet(getParameters(operation, where))]));

const ALL_OPERATIONS = [
  ...Object.keys(OPERATIONS),
  ...Object.keys(WORKSPACE_OPERATIONS),
] as readonly AnyOperationName[];
const PARAMETER_SETS = { query: buildParameterSets('query'), body: buildParameterSets('body') };

function makeParameterSet(keys: readonly ParameterKey[]): ParameterSet {
  const byName = keys.map((key) => [getParameterName(key), PARAMETERS[key] as Parameter<unknown>] as const);
  return { byName, names: byName.map(([name]) => name) };
}

const NO_LIMITS: RequestLimits = { maxPageSize: Number.MAX_SAFE_INTEGER };

/** Reads the query string; throws 400 for an unknown parameter. Parameters of expanded lists are in `narrow`. */
export function readQuery<P extends AnyOperationName>(
  operation: P,
  query: string,
  limits: RequestLimits = NO_LIMITS,
): Values<P, 'query'> & Pick<Values<'query', 'body'>, 'narrow'> {
  if (query === '') return {} as Values<P, 'query'>;
  const parameters = PARAMETER_SETS.query.get(operation) as ParameterSet;
  const pathNames = parameters.names.includes('expand') ? NARROWING_NAMES : [];
  const { values, byPath } = collect(query, parameters.names, pathNames, toUnknownParameter);
  const input = { limits, count: { conditions: 0, nodes: 0 } };
  const read = readAll(
    parameters,
    input,
    (name) => values.get(name),
    (texts, { form }, at) => form.fromText(texts, at),
  );
  if (byPath.size > 0) read.narrow = parseNarrowings(byPath, { ...input, name: '' });
  return read as Values<P, 'query'>;
}

/** Reads the body; throws 400 for a member that the operation does not take. */
export function readBody<P extends AnyOperationName>(
  operation: P,
  body: unknown,
  limits: RequestLimits = NO_LIMITS,
): Values<P, 'body'> {
  const parameters = PARAMETER_SETS.body.get(operation) as ParameterSet;
  const { members, has } = readMembers(body, parameters.names);
  const input = { limits, count: { conditions: 0, nodes: 0 } };
  const member = (name: string) => (has(name) ? members[name] : undefined);
  return readAll(parameters, input, member, (value, { form }, at) => form.fromJson(value, at)) as Values<P, 'body'>;
}

function readAll<V>(
  { byName }: ParameterSet,
  input: Omit<Input, 'name'>,
  getValue: (name: string) => V | undefined,
  read: (value: V, parameter: Parameter<unknown>, input: Input) => unknown,
): Record<string, unknown> {
  for (const [name, { excludes: [other, reason] = [] }] of byName) {
    if (other !== undefined && getValue(name) !== undefined && getValue(other) !== undefined)
      throw badRequest('PARAMETER_CONFLICT', `${other} and ${name} do not go together: ${reason}`);
  }
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of byName) {
    const value = getValue(name);
    if (value !== undefined) values[name] = read(value, parameter, { ...input, name });
  }
  return values;
}
