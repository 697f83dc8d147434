// Makers of JSON Schemas (draft 2020-12) with the types of typebox, so that `Static` gives the type of what a schema
// describes. These few are all that is made here; typebox itself, 373 modules, took 11 MB of a server at rest and 0.1 s of
// each start.
import type TypeBox from 'typebox';

type Options = Readonly<Record<string, unknown>>;
type Schema = Readonly<Record<string, unknown>>;

/** Marks members that need not be there: `object` leaves them out of `required`. Not enumerable, so JSON has it not. */
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
  /** A schema written by hand, of a type that is told. */
  Unsafe: (schema: Schema): Schema => schema,
};

/** Called as typebox's own. */
export const Type = MAKERS as unknown as Pick<typeof TypeBox, keyof typeof MAKERS>;
