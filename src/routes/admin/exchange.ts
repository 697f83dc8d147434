// What all of the admin API does with requests and answers: bodies against their shape, pages, ids, times.
import type { Static, TSchema } from 'typebox';
import type { PageOf } from '../../catalog/pages.ts';
import { makeReport, type Report } from '../../document/report.ts';
import { checkShape, plainNumbers } from '../../document/shape.ts';
import { badRequest, malformedId, notFound, repeatedParameter, validationFailed } from '../../errors.ts';
import type { RouteRequest } from '../../http/routes.ts';
import { isStorable } from '../../model/exact-json.ts';
import { DEFAULT_PAGE_SIZE, parsePage, parseSize } from '../../request/page.ts';
import { json, type Reply } from '../../response/reply.ts';

// The data API's default maximum. Lists of this API are short, so there is no setting for it.
const MAX_PAGE_SIZE = 1000;

export const PAGE_PARAMETERS = ['page', 'size'] as const;

export interface PageRequest {
  readonly page: number;
  readonly size: number;
}

export function pageOf(request: RouteRequest): PageRequest {
  const page = parameter(request, 'page');
  const size = parameter(request, 'size');
  return {
    page: page === undefined ? 0 : parsePage(page),
    size: size === undefined ? DEFAULT_PAGE_SIZE : parseSize('size', size, MAX_PAGE_SIZE),
  };
}

/** A query parameter that may be given once. */
export function parameter(request: RouteRequest, name: string): string | undefined {
  const values = request.query.get(name) ?? [];
  if (values.length > 1) throw repeatedParameter(name);
  return values[0];
}

export function flag(request: RouteRequest, name: string): boolean {
  const text = parameter(request, name);
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  throw badRequest(`${name} must be true or false`);
}

/** A body of this shape; 400 with every mistake in it. `check` adds what a shape cannot say. */
export async function bodyOf<T extends TSchema>(
  request: RouteRequest,
  shape: T,
  check: (body: Static<T>, report: Report) => void = () => undefined,
): Promise<Static<T>> {
  const body = await request.body();
  const report = makeReport(body);
  const plain = plainNumbers(body);
  checkShape(shape, plain, report);
  if (typeof plain === 'object' && plain !== null) {
    for (const [name, value] of Object.entries(plain)) {
      if (typeof value === 'string' && !isStorable(value)) {
        report([name], 'INVALID', 'must not contain NUL characters or lone surrogates');
      }
    }
    check(plain as Static<T>, report);
  }
  const details = report.details();
  if (details.length > 0) throw validationFailed(details);
  return plain as Static<T>;
}

/** A numeric id of the path as text; 400 when malformed, 404 when no id can be that large. */
export function idOf(request: RouteRequest, name: string, what: string): string {
  const text = request.params[name] ?? '';
  if (!/^-?\d+$/.test(text)) throw malformedId(text);
  if (text.length > 19 || BigInt(text) > 9223372036854775807n) throw notFound(`${what} ${text} does not exist`);
  return text;
}

export function list<T>({ rows, total }: PageOf<T>, { page, size }: PageRequest, show: (row: T) => unknown): Reply {
  const meta = { page, size, totalElements: total, totalPages: Math.ceil(total / size) };
  return json(200, { data: rows.map(show), meta });
}

export const single = (value: unknown): Reply => json(200, { data: value });

export const created = (value: unknown, location: string): Reply => json(201, { data: value }, { Location: location });

/** As the data API writes datetimes: UTC, no fraction when it is zero. */
export function time(date: Date): string;
export function time(date: Date | null): string | null;
export function time(date: Date | null): string | null {
  return date === null ? null : date.toISOString().replace('.000Z', 'Z');
}
