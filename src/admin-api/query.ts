// Query parameters of admin routes: each is a value with a shape and a parser. All lists have the same paging.
import type { TSchema } from 'typebox';
import { badRequest, repeatedParameter } from '../errors.ts';
import { parseInteger } from '../request/forms.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE } from '../request/page.ts';
import { Type } from '../schema/type.ts';

export interface Parameter<T> {
  readonly shape: TSchema;
  /** Parses the text, which is undefined without the parameter; 400 when it is invalid. */
  readonly read: (text: string | undefined, name: string) => T;
}

export type Query = Readonly<Record<string, Parameter<unknown>>>;

export type Values<Q extends Query> = { readonly [Name in keyof Q]: Q[Name] extends Parameter<infer T> ? T : never };

/** Parses the parameters of a query string, each at most once. */
export function readQuery(
  query: Query,
  provided: ReadonlyMap<string, readonly string[]>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(query).map(([name, { read }]) => {
      const texts = provided.get(name) ?? [];
      if (texts.length > 1) throw repeatedParameter(name);
      return [name, read(texts[0], name)];
    }),
  );
}

// The data API's default maximum. Lists of this API are short, so there is no setting for it.
const MAX_PAGE_SIZE = 1000;

export interface PageRequest {
  readonly page: number;
  readonly size: number;
}

export const PAGE = {
  page: {
    shape: Type.Integer({ minimum: 0, default: 0, description: 'Which page, from 0.', examples: [0] }),
    read: (text: string | undefined): number => (text === undefined ? 0 : parseInteger('page', text, 0, MAX_PAGE)),
  },
  size: {
    shape: Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
      description: 'How many entries a page has.',
      examples: [DEFAULT_PAGE_SIZE],
    }),
    read: (text: string | undefined): number =>
      text === undefined ? DEFAULT_PAGE_SIZE : parseInteger('size', text, 1, MAX_PAGE_SIZE),
  },
};

export const flag = (description: string): Parameter<boolean> => ({
  shape: Type.Boolean({ default: false, description }),
  read(text, name) {
    if (text === undefined || text === 'false') return false;
    if (text === 'true') return true;
    throw badRequest('INVALID_PARAMETER', `${name} must be true or false`);
  },
});

export const textParameter = (description: string, example: string): Parameter<string | undefined> => ({
  shape: Type.String({ description, examples: [example] }),
  read: (text) => text,
});
