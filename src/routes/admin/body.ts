// Bodies of admin routes: each a value that knows its shape and what becomes of it. 400 tells every mistake.
import type { Static, TSchema } from 'typebox';
import { makeReport, type Report } from '../../document/report.ts';
import { checkShape, plainNumbers } from '../../document/shape.ts';
import { validationFailed } from '../../errors.ts';
import { isStorable } from '../../model/exact-json.ts';

/** `Found` is what the route has found before it reads the body. */
export interface Body<T, Found = unknown> {
  readonly shape: TSchema;
  /** 400 for what it cannot be. `raw` is the JSON with all digits of its numbers, undefined when there is none. */
  readonly read: (raw: unknown, found: Found) => T;
}

/** A body of this shape. */
export function body<S extends TSchema>(shape: S): Body<Static<S>> {
  return { shape, read: (raw) => bodyOf(raw, shape) };
}

/**
 * A body of this shape, as what `refine` makes of it, which reports what a shape cannot say; members that have not the
 * form of their shape are not there. What it gives is used when there are no mistakes.
 */
export function refinedBody<S extends TSchema, T>(
  shape: S,
  refine: (body: Static<S>, report: Report, raw: unknown) => T,
): Body<T> {
  return {
    shape,
    read(raw) {
      let refined: T | undefined;
      bodyOf(raw, shape, (plain, report) => {
        refined = refine(plain, report, raw);
      });
      return refined as T;
    },
  };
}

/** A body of this shape, whose numbers keep all of their digits. */
export function exactBody<S extends TSchema>(shape: S): Body<Static<S>> {
  return {
    shape,
    read(raw) {
      bodyOf(raw, shape);
      return raw as Static<S>;
    },
  };
}

/** A body that is checked where it is used; its shape is what documentation says. */
export const uncheckedBody = (shape: TSchema): Body<unknown> => ({ shape, read: (raw) => raw });

/** A body against a shape; 400 with every mistake in it. `check` adds what a shape cannot say. */
export function bodyOf<S extends TSchema>(
  raw: unknown,
  shape: S,
  check: (body: Static<S>, report: Report) => void = () => undefined,
): Static<S> {
  const report = makeReport(raw);
  const plain = plainNumbers(raw);
  checkShape(shape, plain, report);
  if (typeof plain === 'object' && plain !== null) {
    for (const [name, value] of Object.entries(plain)) {
      if (typeof value === 'string' && !isStorable(value)) {
        report([name], 'INVALID', 'must not contain NUL characters or lone surrogates');
      }
    }
    check(plain as Static<S>, report);
  }
  const details = report.details();
  if (details.length > 0) throw validationFailed(details);
  return plain as Static<S>;
}
