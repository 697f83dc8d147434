// Shapes -> schemas of a document: those with a title become components, named once and referred to everywhere.

import type { Part } from './error-responses.ts';
import type { Shape } from './operation.ts';

/** Returns the schema for the document: a reference when it has a title. */
export type Refer = (shape: Shape) => Part;

export interface Components {
  readonly refer: Refer;
  /** Returns all shapes that have been referred to, by name. */
  readonly schemas: () => Readonly<Record<string, Part>>;
}

/** Keywords whose values contain schemas; values of all others are copied. */
const SCHEMA_KEYWORDS: Readonly<Record<string, 'schema' | 'list' | 'members'>> = {
  items: 'schema',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  anyOf: 'list',
  oneOf: 'list',
  properties: 'members',
};

/** Throws a TypeError when two different shapes have the same title. */
export function makeComponents(): Components {
  const schemas = new Map<string, Part>();

  const refer: Refer = (shape) => {
    const { title, ...rest } = shape as { readonly title?: unknown };
    const schema = renderShape(rest);
    if (typeof title !== 'string') return schema;
    const existing = schemas.get(title);
    if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(schema)) {
      throw new TypeError(`two shapes are called ${title}`);
    }
    schemas.set(title, schema);
    return { $ref: `#/components/schemas/${title}` };
  };

  const renderShape = (shape: object): Part =>
    Object.fromEntries(Object.entries(shape).map(([keyword, value]) => [keyword, renderValue(keyword, value)]));

  function renderValue(keyword: string, value: unknown): unknown {
    // `additionalProperties` may be true or false.
    if (typeof value !== 'object' || value === null) return value;
    const kind = SCHEMA_KEYWORDS[keyword];
    switch (kind) {
      case 'schema':
        return refer(value);
      case 'list':
        return (value as readonly Shape[]).map(refer);
      case 'members':
        return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, refer(member)]));
      case undefined:
        return value;
      default:
        return kind satisfies never;
    }
  }

  return {
    refer,
    schemas: () => Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}
