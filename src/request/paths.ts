// Dotted paths of `expand` and `fields` -> trees. Syntax only: names are checked against the schema in plan/.
import { badRequest, shorten } from '../errors.ts';

/** Relations to expand, by name; the value is the tree below. */
export interface ExpandTree {
  readonly [relation: string]: ExpandTree;
}

/** Selected names, `*` among them. `all`: named without a dot, so everything of it; `children`: names below it. */
export interface FieldTree {
  readonly [name: string]: { readonly all: boolean; readonly children: FieldTree };
}

// Each expanded relation is a join; a reasonable response has fewer.
export const MAX_PATHS = 100;

type MutableExpand = { [relation: string]: MutableExpand };
type MutableFields = { [name: string]: { all: boolean; children: MutableFields } };

/** Parses `a.b,c` (several parameters are joined) into a tree; `''` expands nothing. */
export function parseExpand(values: readonly string[]): ExpandTree {
  const root: MutableExpand = Object.create(null);
  for (const names of splitPaths('expand', values)) {
    let level = root;
    for (const name of names) {
      level[name] ??= Object.create(null) as MutableExpand;
      level = level[name];
    }
  }
  return root;
}

/** Parses `a,b.c` into a tree, in the order of the request, or returns undefined without names, for all columns. */
export function parseFields(values: readonly string[]): FieldTree | undefined {
  const root: MutableFields = Object.create(null);
  const paths = splitPaths('fields', values);
  for (const names of paths) {
    let level = root;
    names.forEach((name, index) => {
      level[name] ??= { all: false, children: Object.create(null) as MutableFields };
      if (index === names.length - 1) level[name].all = true;
      level = level[name].children;
    });
  }
  return paths.length === 0 ? undefined : root;
}

function splitPaths(parameter: string, values: readonly string[]): string[][] {
  const paths: string[][] = [];
  for (const value of values) {
    if (value.trim() === '') continue;
    for (const part of value.split(',', MAX_PATHS + 1)) paths.push(splitPath(parameter, part.trim()));
    if (paths.length > MAX_PATHS) throw badRequest('LIMIT_EXCEEDED', `${parameter} names more than ${MAX_PATHS} paths`);
  }
  return paths;
}

// No document allows paths of this length; longer ones are not split.
const MAX_PATH_NAMES = 100;
const MAX_PATH_CHARACTERS = 10_000;

/** Splits `a.b.c` into names, none of them empty. */
export function splitPath(parameter: string, path: string): string[] {
  const names = path.length > MAX_PATH_CHARACTERS ? undefined : path.split('.', MAX_PATH_NAMES + 1);
  if (names === undefined || names.length > MAX_PATH_NAMES) {
    throw badRequest(
      'INVALID_PATH',
      `${parameter} ${shorten(path)} is longer than a path of ${MAX_PATH_NAMES} names can be`,
    );
  }
  if (names.some((name) => name === '')) {
    throw badRequest(
      'INVALID_PATH',
      `${parameter} is malformed: ${path === '' ? 'a name is empty' : `${shorten(path)} has an empty name`}`,
    );
  }
  return names;
}
