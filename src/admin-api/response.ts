// Responses of admin routes: their shapes, and replies that are typed by them.
import type { Readable } from 'node:stream';
import type { Static, TProperties, TSchema } from 'typebox';
import { json, jsonText, noContent, type Reply } from '../response/reply.ts';
import { Type } from '../schema/type.ts';
import type { PageOf } from '../store/pages.ts';
import type { PageRequest } from './query.ts';

declare const responseType: unique symbol;

/** Reply with this status whose body is a T. */
export type TypedReply<T, Status extends number = number> = Reply & { readonly [responseType]: readonly [Status, T] };

/** Shapes of whole response bodies, by status. */
export type Responses = Readonly<Record<number, TSchema>>;

/** Replies of a route with these responses. */
export type RouteResponse<A extends Responses> = {
  [Status in keyof A & number]: TypedReply<Static<A[Status]>, Status>;
}[keyof A & number];

/* ---- shapes ---- */

/** Texts of a shape in OpenAPI documents. A shape with a title becomes a component of that name. */
export interface ShapeTexts {
  readonly title?: string;
  readonly description?: string;
}

export const objectShape = <P extends TProperties>(members: P, texts: ShapeTexts = {}) =>
  Type.Object(members, { ...texts, additionalProperties: false });

/** Returns the shape that also allows null: scalars by a list of types, which code generators understand best. */
export function nullableShape<S extends TSchema>(shape: S) {
  const { type, ...rest } = shape as { type?: string };
  const isPlain = type !== undefined && type !== 'object';
  return Type.Unsafe<Static<S> | null>(
    isPlain ? { ...rest, type: [type, 'null'], ...addNull(rest) } : { oneOf: [shape, { type: 'null' }] },
  );
}

const addNull = ({ enum: values }: { readonly enum?: readonly unknown[] }): object =>
  values === undefined ? {} : { enum: [...values, null] };

export const arrayShape = <S extends TSchema>(shape: S) =>
  Type.Unsafe<readonly Static<S>[]>({ type: 'array', items: shape });

export const enumShape = <const T extends readonly string[]>(...values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] });

export const anyShape = (description?: string) =>
  Type.Unsafe<unknown>(description === undefined ? {} : { description });

export const Id = Type.Integer({ minimum: 1, format: 'int64', examples: [1] });
export const Time = Type.String({
  format: 'date-time',
  description: 'ISO 8601 in UTC, with milliseconds when there are any.',
  examples: ['2026-01-31T12:00:00Z'],
});

/** Returns the envelope of one value. */
export const data = <S extends TSchema>(shape: S) => objectShape({ data: shape });

const Page = objectShape(
  {
    page: Type.Integer({ minimum: 0, description: 'Which page this is, from 0.' }),
    size: Type.Integer({ minimum: 1, description: 'How many entries a page has.' }),
    totalElements: Type.Integer({ minimum: 0 }),
    totalPages: Type.Integer({ minimum: 0 }),
  },
  { title: 'Page', description: 'Where a page is in its list.' },
);

/** Returns the envelope of a page of a list. */
export const pageShape = <S extends TSchema>(shape: S) =>
  objectShape({
    data: arrayShape(shape),
    meta: Page,
  });

/** Shape of responses without a body: 204 and 304. */
export const NOTHING = Type.Unsafe<undefined>({});

export const BINARY_TYPE = 'application/octet-stream';

/** Shape of bodies that are bytes. */
export const BYTES = Type.Unsafe<Readable>({});

/* ---- replies ---- */

export function respond<T, Status extends number>(
  status: Status,
  value: T,
  headers: Readonly<Record<string, string>> = {},
): TypedReply<T, Status> {
  return json(status, value, headers) as TypedReply<T, Status>;
}

/** Returns a reply of JSON text, which keeps the digits of numbers and is not serialized twice. */
export function respondText<T>(text: string): TypedReply<T, 200> {
  return jsonText(200, text) as TypedReply<T, 200>;
}

export const respondData = <T>(value: T): TypedReply<{ data: T }, 200> => respond(200, { data: value });

export const respondCreated = <T>(value: T, location: string): TypedReply<{ data: T }, 201> =>
  respond(201, { data: value }, { Location: location });

export const respondNothing = (): TypedReply<undefined, 204> => noContent() as TypedReply<undefined, 204>;

export function respondBytes(stream: Readable, fileName: string): TypedReply<Readable, 200> {
  const headers = { 'Content-Disposition': `attachment; filename="${fileName}"` };
  return { status: 200, headers, body: { kind: 'stream', contentType: BINARY_TYPE, stream } } as unknown as TypedReply<
    Readable,
    200
  >;
}

export function respondPage<Row, T>({ rows, total }: PageOf<Row>, { page, size }: PageRequest, show: (row: Row) => T) {
  const meta = { page, size, totalElements: total, totalPages: Math.ceil(total / size) };
  return respond(200, { data: rows.map(show) as readonly T[], meta });
}

/** Formats a time like the data API: UTC, no fraction when it is zero. */
export function formatTime(date: Date): string;
export function formatTime(date: Date | null): string | null;
export function formatTime(date: Date | null): string | null {
  return date === null ? null : date.toISOString().replace('.000Z', 'Z');
}
