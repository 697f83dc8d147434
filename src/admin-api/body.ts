// Request bodies of admin routes: each is a value with a shape and a parser. 400 lists every mistake.
import type { Static, TSchema } from 'typebox';
import { validationFailed } from '../errors.ts';
import { isStorable } from '../model/exact-json.ts';
import { makeReport, type Report } from '../schema/report.ts';
import { checkShape, plainNumbers } from '../schema/shape.ts';

/** Shape and parser of a body. `Resource`: the value that the route loads before it reads the body. */
export interface Body<T, Resource = unknown> {
  readonly shape: TSchema;
  /** Parses a body; 400 when it is invalid. `raw`: JSON value with all digits of its numbers, or undefined without a body. */
  readonly read: (raw: unknown, resource: Resource) => T;
}

export const NOT_STORABLE = 'must not contain NUL characters or lone surrogates';

/** Returns a body of this shape. */
export function body<S extends TSchema>(shape: S): Body<Static<S>> {
  return { shape, read: (raw) => checkBody(raw, shape) };
}

/**
 * Returns a body of this shape whose value `refine` makes, which reports mistakes that a shape cannot describe. `refine`
 * gets the body without the members that break their shape; its value is used only without mistakes. `described`: more
 * detailed shape for OpenAPI documents, where `refine` checks members that `shape` accepts as they are.
 */
export function refinedBody<S extends TSchema, T, Resource = unknown>(
  shape: S,
  refine: (body: Static<S>, report: Report, raw: unknown, resource: Resource) => T,
  documentedShape: TSchema = shape,
): Body<T, Resource> {
  return {
    shape: documentedShape,
    read(raw, resource) {
      let value: T | undefined;
      checkBody(raw, shape, (plainBody, report) => {
        value = refine(plainBody, report, raw, resource);
      });
      return value as T;
    },
  };
}

/** Returns a body of this shape, whose numbers keep all of their digits. */
export function exactBody<S extends TSchema>(shape: S): Body<Static<S>> {
  return {
    shape,
    read(raw) {
      checkBody(raw, shape);
      return raw as Static<S>;
    },
  };
}

/** Returns a body that is checked where it is used; its shape is for documentation. */
export const uncheckedBody = (shape: TSchema): Body<unknown> => ({ shape, read: (raw) => raw });

/** Checks a body against a shape; 400 with every mistake in it. `check` adds mistakes that a shape cannot describe. */
export function checkBody<S extends TSchema>(
  raw: unknown,
  shape: S,
  check: (body: Static<S>, report: Report) => void = () => undefined,
): Static<S> {
  const report = makeReport(raw);
  const plainBody = plainNumbers(raw);
  checkShape(shape, plainBody, report);
  if (typeof plainBody === 'object' && plainBody !== null && !report.isFull()) {
    for (const [name, value] of Object.entries(plainBody)) {
      if (typeof value === 'string' && !isStorable(value)) {
        report([name], 'INVALID', NOT_STORABLE);
      }
    }
    check(plainBody as Static<S>, report);
  }
  const details = report.details();
  if (details.length > 0) throw validationFailed(details);
  return plainBody as Static<S>;
}
