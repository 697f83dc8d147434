// Answers of admin routes: their shapes, and replies whose type is the shape.
import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import type { PageOf } from '../../directory/pages.ts';
import { json, jsonText, noContent, type Reply } from '../../response/reply.ts';
import type { PageRequest } from './query.ts';

declare const shown: unique symbol;

/** A reply whose body is a T. */
export type Answered<T> = Reply & { readonly [shown]: T };

/* ---- shapes ---- */

export const closed = <P extends TProperties>(members: P) => Type.Object(members, { additionalProperties: false });

export const orNull = <S extends TSchema>(shape: S) => Type.Union([shape, Type.Null()]);

export const listOf = <S extends TSchema>(shape: S) =>
  Type.Unsafe<readonly Static<S>[]>({ type: 'array', items: shape });

export const oneOf = <const T extends readonly string[]>(...values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] });

export const anything = () => Type.Unsafe<unknown>({});

export const Id = Type.Integer();
export const Time = Type.String({ description: 'ISO 8601 in UTC, as 2026-01-31T12:00:00Z' });

/** The envelope of one value. */
export const data = <S extends TSchema>(shape: S) => closed({ data: shape });

/** The envelope of a page of a list. */
export const pageOf = <S extends TSchema>(shape: S) =>
  closed({
    data: listOf(shape),
    meta: closed({
      page: Type.Integer(),
      size: Type.Integer(),
      totalElements: Type.Integer(),
      totalPages: Type.Integer(),
    }),
  });

/** The shape of answers without a body: 204. */
export const NOTHING = Type.Unsafe<undefined>({});

/* ---- replies ---- */

export function answer<T>(status: number, value: T, headers: Readonly<Record<string, string>> = {}): Answered<T> {
  return json(status, value, headers) as Answered<T>;
}

/** A reply whose JSON text exists already, so that numbers keep their digits and no text is made twice. */
export function answerText<T>(text: string): Answered<T> {
  return jsonText(200, text) as Answered<T>;
}

export const single = <T>(value: T): Answered<{ data: T }> => answer(200, { data: value });

export const created = <T>(value: T, location: string): Answered<{ data: T }> =>
  answer(201, { data: value }, { Location: location });

export const nothing = (): Answered<undefined> => noContent() as Answered<undefined>;

export function list<Row, T>({ rows, total }: PageOf<Row>, { page, size }: PageRequest, show: (row: Row) => T) {
  const meta = { page, size, totalElements: total, totalPages: Math.ceil(total / size) };
  return answer(200, { data: rows.map(show) as readonly T[], meta });
}

/** As the data API writes datetimes: UTC, no fraction when it is zero. */
export function time(date: Date): string;
export function time(date: Date | null): string | null;
export function time(date: Date | null): string | null {
  return date === null ? null : date.toISOString().replace('.000Z', 'Z');
}
