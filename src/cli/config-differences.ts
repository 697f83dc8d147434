// Compares JSON values of a configuration file and of a server, and describes what differs.

import { numberText } from '../model/exact-json.ts';
import type { Values } from './config-parts.ts';
import { isObject } from './schema-file.ts';

/** Describes the members that differ; null equals a missing member. */
export function differences(actual: Values, desired: Values): string[] {
  const names = [...new Set([...Object.keys(desired), ...Object.keys(actual)])];
  return names
    .filter((name) => !isSame(actual[name] ?? null, desired[name] ?? null))
    .map((name) => difference(name, actual[name], desired[name]));
}

/** Formats `name: "Shop" → "Store"`. */
export const difference = (name: string, actual: unknown, desired: unknown): string =>
  actual === undefined || actual === null
    ? `${name}: ${JSON.stringify(desired)}`
    : `${name}: ${JSON.stringify(actual)} → ${JSON.stringify(desired ?? null)}`;

/** Returns whether two JSON values are equal, in any order of members. */
export const isSame = (one: unknown, other: unknown): boolean => sortedText(one) === sortedText(other);

/** Formats a JSON value with its members in the order of their names. */
export const sortedText = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, member) =>
    isObject(member) && numberText(member) === undefined
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );

/** Returns the lines of two lists that differ: what goes, then what comes. */
export const listDifferences = (lines: readonly string[], actualLines: readonly string[]): readonly string[] => [
  ...actualLines.filter((line) => !lines.includes(line)).map((line) => `- ${line}`),
  ...lines.filter((line) => !actualLines.includes(line)).map((line) => `+ ${line}`),
];
