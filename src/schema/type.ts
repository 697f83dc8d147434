// Makers of JSON Schemas (draft 2020-12) with the types of typebox, so that `Static` derives the type of the described
// value. We need only these few; typebox itself, 373 modules, took 11 MB of a server at rest and 0.1 s of each start.
import type TypeBox from 'typebox';

type Options = Readonly<Record<string, unknown>>;
type Schema = Readonly<Record<string, unknown>>;

/** Marks optional members: `object` leaves them out of `required`. Not enumerable, so JSON omits it. */
const OPTIONAL = Symbol('optional');

const simple =
  (type: string) =>
  (options: Options = {}): Schema => ({ type, ...options });

function object(properties: Readonly<Record<string, Schema>>, options: Options = {}): Schema {
  const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] as Schema)));
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options };
}

const maybe = (schema: Schema): Schema => Object.defineProperty({ ...schema }, OPTIONAL, { value: true });

const MAKERS = {
  String: simple('string'),
  Number: simple('number'),
  Integer: simple('integer'),
  Boolean: simple('boolean'),
  Array: (items: Schema, options: Options = {}): Schema => ({ type: 'array', items, ...options }),
  Union: (anyOf: readonly Schema[], options: Options = {}): Schema => ({ anyOf, ...options }),
  Object: object,
  Optional: maybe,
  /** Accepts a schema written by hand, of an explicit type. */
  Unsafe: (schema: Schema): Schema => schema,
};

/** Makers with the names of typebox's own. */
export const Type = MAKERS as unknown as Pick<typeof TypeBox, keyof typeof MAKERS>;
