// Reads the query string or the body of an operation by the table of parameters.
import { badRequest } from '../errors.ts';
import type { Input, RequestLimits } from './forms.ts';
import { readMembers } from './members.ts';
import { NARROWING_NAMES, parseNarrowings } from './narrowing.ts';
import { OPERATIONS, WORKSPACE_OPERATIONS } from './operations.ts';
import {
  nameOf,
  PARAMETERS,
  type Parameter,
  type ParameterKey,
  type Place,
  parametersAt,
  type Values,
} from './parameters.ts';
import { collect } from './query-string.ts';

export type { Values } from './parameters.ts';

interface Known {
  readonly names: readonly string[];
  readonly byName: readonly (readonly [name: string, parameter: Parameter<unknown>])[];
}

/** Parameters by operation; made once, as each request asks for them. */
const knownIn = (where: 'query' | 'body'): ReadonlyMap<Place, Known> =>
  new Map(PLACES.map((place) => [place, makeKnown(parametersAt(place, where))]));

const PLACES = [...Object.keys(OPERATIONS), ...Object.keys(WORKSPACE_OPERATIONS)] as readonly Place[];
const KNOWN = { query: knownIn('query'), body: knownIn('body') };

function makeKnown(keys: readonly ParameterKey[]): Known {
  const byName = keys.map((key) => [nameOf(key), PARAMETERS[key] as Parameter<unknown>] as const);
  return { byName, names: byName.map(([name]) => name) };
}

const NO_LIMITS: RequestLimits = { maxPageSize: Number.MAX_SAFE_INTEGER };

/** 400 for a parameter that the operation does not take. Those that shape expanded lists are its `narrow`. */
export function readQuery<P extends Place>(
  place: P,
  query: string,
  limits: RequestLimits = NO_LIMITS,
): Values<P, 'query'> & Pick<Values<'query', 'body'>, 'narrow'> {
  if (query === '') return {} as Values<P, 'query'>;
  const known = KNOWN.query.get(place) as Known;
  const { values, byPath } = collect(query, known.names, known.names.includes('expand') ? NARROWING_NAMES : []);
  const input = { limits, count: { conditions: 0, nodes: 0 } };
  const read = readAll(
    known,
    input,
    (name) => values.get(name),
    (texts, { form }, at) => form.fromText(texts, at),
  );
  if (byPath.size > 0) read.narrow = parseNarrowings(byPath, { ...input, name: '' });
  return read as Values<P, 'query'>;
}

/** 400 for a member that the operation does not take. */
export function readBody<P extends Place>(
  place: P,
  body: unknown,
  limits: RequestLimits = NO_LIMITS,
): Values<P, 'body'> {
  const known = KNOWN.body.get(place) as Known;
  const { members, has } = readMembers(body, known.names);
  const input = { limits, count: { conditions: 0, nodes: 0 } };
  const member = (name: string) => (has(name) ? members[name] : undefined);
  return readAll(known, input, member, (value, { form }, at) => form.fromJson(value, at)) as Values<P, 'body'>;
}

function readAll<V>(
  { byName }: Known,
  input: Omit<Input, 'name'>,
  given: (name: string) => V | undefined,
  read: (value: V, parameter: Parameter<unknown>, input: Input) => unknown,
): Record<string, unknown> {
  for (const [name, { excludes: [other, reason] = [] }] of byName) {
    if (other !== undefined && given(name) !== undefined && given(other) !== undefined)
      throw badRequest('PARAMETER_CONFLICT', `${other} and ${name} do not go together: ${reason}`);
  }
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of byName) {
    const value = given(name);
    if (value !== undefined) values[name] = read(value, parameter, { ...input, name });
  }
  return values;
}
