// fields + expand + defaults -> Projection: the members of each record of the response, level by level. Checks the
// whitelist and the depth limit, each level against its entity. Throws 400.
import { badRequest, listNames, shorten, unknownName } from '../errors.ts';
import { closest } from '../model/closest.ts';
import { DEFAULT_MAX_EXPAND_DEPTH, type Entity, EVERY_COLUMN, type Field, findLabel } from '../model/entity.ts';
import { listLabelFields } from '../model/label.ts';
import { isToOne } from '../model/relation.ts';
import type { Narrowing } from '../request/narrowing.ts';
import { type ExpandTree, type FieldTree, parseExpand, parseFields } from '../request/paths.ts';
import type { Selection } from '../request/record-request.ts';
import { getRelation } from './condition.ts';
import { expandTooDeep, notExpandable } from './errors.ts';
import { buildLink, getTarget, type Link, type PlanContext } from './link.ts';
import { type Ordering, planOrdering } from './ordering.ts';
import { type Predicate, planFilter, shieldScan } from './predicate.ts';
import { planSearch } from './search.ts';

export type Output =
  | { readonly kind: 'column'; readonly field: Field }
  | { readonly kind: 'toOne'; readonly name: string; readonly link: Link; readonly projection: Projection }
  | {
      readonly kind: 'toMany';
      readonly name: string;
      readonly link: Link;
      readonly projection: Projection;
      readonly ordering: Ordering;
      readonly predicate: Predicate | undefined;
      readonly size: number | undefined;
    };

/** Members of the JSON object, in order. */
export interface Projection {
  readonly outputs: readonly Output[];
}

/** Returns whether the response can grow with the number of related records. */
export function hasLists(projection: Projection): boolean {
  return projection.outputs.some(
    (output) => output.kind === 'toMany' || (output.kind === 'toOne' && hasLists(output.projection)),
  );
}

/** Returns the projection of responses to writes: every column and nothing else. */
export function projectRecord(entity: Entity): Projection {
  return { outputs: getColumns(entity) };
}

/** Returns the projection of the id alone. */
export function projectId(entity: Entity): Projection {
  return { outputs: getColumns(entity).filter((output) => output.kind === 'column' && output.field.role === 'id') };
}

export function planProjection(selection: Selection, entity: Entity, context: PlanContext): Projection {
  const { defaultExpand, defaultFields } = entity.settings;
  const expand = selection.expand ?? parseExpand(defaultExpand ?? []);
  const explicit = selection.fields !== undefined;
  const fields =
    selection.fields === 'all'
      ? undefined
      : (selection.fields ?? (defaultFields === null ? undefined : parseFields(defaultFields)));
  const maximum = entity.settings.maxExpandDepth ?? DEFAULT_MAX_EXPAND_DEPTH;
  checkExpand(expand, entity, context, [], maximum);
  const narrowings = new Map(selection.narrowings.map((narrowing) => [narrowing.path.join('.'), narrowing]));
  const projection = planLevel({ entity, expand, fields, path: [], explicit, narrowings, context });
  const [unused] = narrowings.values();
  if (unused !== undefined) throw notNarrowed(unused, projection, entity, context);
  return projection;
}

/** Names the unknown name of a path that does not resolve; for other paths, lists the paths that can be narrowed. */
function notNarrowed({ path }: Narrowing, projection: Projection, entity: Entity, context: PlanContext): Error {
  let level = entity;
  for (const name of path) level = getTarget(getRelation(level, name), context);
  return badRequest(
    'INVALID_NARROWING',
    `${shorten(path.join('.'))} cannot be narrowed: it is no to-many relation that this request expands and returns. Known: ${listNames(findListPaths(projection, []))}`,
  );
}

/** Returns the paths of the lists in a projection. */
function findListPaths({ outputs }: Projection, path: readonly string[]): string[] {
  return outputs.flatMap((output) => {
    if (output.kind === 'column') return [];
    const childPath = [...path, output.name];
    return [...(output.kind === 'toMany' ? [childPath.join('.')] : []), ...findListPaths(output.projection, childPath)];
  });
}

/** Selects columns alone, for exports. */
export function planColumns(fields: FieldTree | undefined, entity: Entity): Field[] {
  if (fields === undefined) return [...entity.fields.values()];
  return collectNames(fields, entity, []).map((name) => {
    const field = entity.fields.get(name);
    if (field === undefined) {
      throw unknownName('field', name, entity.name, closest(name, entity.fields.keys()), entity.fields.keys());
    }
    rejectNested(entity, fields[name], name);
    return field;
  });
}

/**
 * Adds to the columns of an export, after each reference, the fields in the label of the record that it leads to; not for
 * relations that may not be expanded, or whose records have no label.
 */
export function addLabels(columns: readonly Output[], entity: Entity, context: PlanContext): Output[] {
  const { expandable } = entity.settings;
  return columns.flatMap((column): Output[] => {
    const relation = column.kind === 'column' ? entity.relations.get(column.field.relation ?? '') : undefined;
    if (relation === undefined || expandable?.includes(relation.name) === false) return [column];
    const target = getTarget(relation, context);
    const label = findLabel(target);
    if (label === null) return [column];
    const outputs = listLabelFields(label).map(
      (name): Output => ({ kind: 'column', field: target.fields.get(name) as Field }),
    );
    return [
      column,
      { kind: 'toOne', name: relation.name, link: buildLink(relation, context), projection: { outputs } },
    ];
  });
}

/** Checks names, whitelist, then depth, so that a forbidden relation is reported before the depth of its path. */
function checkExpand(
  tree: ExpandTree,
  entity: Entity,
  context: PlanContext,
  path: readonly string[],
  maximum: number,
): void {
  for (const name of Object.keys(tree)) {
    const childPath = [...path, name];
    const relation = relationToExpand(entity, name);
    const subtree = tree[name] as ExpandTree;
    if (childPath.length > maximum) throw expandTooDeep(maximum, deepest(childPath, subtree));
    checkExpand(subtree, getTarget(relation, context), context, childPath, maximum);
  }
}

function relationToExpand(entity: Entity, name: string) {
  const whitelist = entity.settings.expandable;
  if (whitelist !== null && entity.relations.has(name) && !whitelist.includes(name))
    throw notExpandable(name, whitelist);
  return getRelation(entity, name);
}

/** Returns the whole path as the request wrote it (the first one, when it forks further down). */
function deepest(path: readonly string[], subtree: ExpandTree): string {
  const next = Object.keys(subtree)[0];
  return next === undefined ? path.join('.') : deepest([...path, next], subtree[next] as ExpandTree);
}

interface Level {
  readonly entity: Entity;
  readonly expand: ExpandTree;
  /** Selected fields, or undefined for every column and every expanded relation. */
  readonly fields: FieldTree | undefined;
  readonly path: readonly string[];
  /** Whether the request gave `fields`. A default selection may name relations that are not expanded. */
  readonly explicit: boolean;
  readonly narrowings: Map<string, Narrowing>;
  readonly context: PlanContext;
}

function planLevel(level: Level): Projection {
  const { entity, fields, expand } = level;
  if (fields === undefined) {
    return {
      outputs: [...getColumns(entity), ...Object.keys(expand).map((name) => planRelation(level, name, undefined))],
    };
  }
  const outputs: Output[] = [];
  for (const name of collectNames(fields, entity, level.path)) {
    const selected = fields[name];
    const field = entity.fields.get(name);
    if (field !== undefined) {
      rejectNested(entity, selected, [...level.path, name].join('.'));
      outputs.push({ kind: 'column', field });
    } else if (!entity.relations.has(name)) {
      const candidates = [...entity.fields.keys(), ...entity.relations.keys()];
      throw unknownName('field', name, entity.name, closest(name, candidates), candidates);
    } else if (Object.hasOwn(expand, name)) {
      outputs.push(planRelation(level, name, selected?.all === true ? undefined : selected?.children));
    } else if (level.explicit) {
      const path = [...level.path, name].join('.');
      throw badRequest('INVALID_FIELDS', `fields: ${path} is a relation that is not expanded; add expand=${path}`);
    }
  }
  return { outputs };
}

/** Returns the selected names, each once, with `*` replaced by the columns. */
function collectNames(fields: FieldTree, entity: Entity, path: readonly string[]): string[] {
  const names = new Set<string>();
  for (const name of Object.keys(fields)) {
    if (name !== EVERY_COLUMN) names.add(name);
    else {
      if (Object.keys(fields[name]?.children ?? {}).length > 0) {
        throw badRequest(
          'INVALID_FIELDS',
          `fields: ${[...path, name].join('.')} stands for columns, which have nothing below them`,
        );
      }
      for (const column of entity.fields.keys()) names.add(column);
    }
  }
  return [...names];
}

/** Refuses members of anything but a relation. */
function rejectNested(entity: Entity, selected: FieldTree[string] | undefined, path: string): void {
  if (Object.keys(selected?.children ?? {}).length === 0) return;
  throw badRequest(
    'INVALID_FIELDS',
    `fields: ${path} is a field of ${entity.name}, not a relation, and has nothing below it`,
  );
}

function planRelation(level: Level, name: string, fields: FieldTree | undefined): Output {
  const { context } = level;
  const relation = relationToExpand(level.entity, name);
  const target = getTarget(relation, context);
  const path = [...level.path, name];
  const link = buildLink(relation, context);
  const childLevel: Level = { ...level, entity: target, expand: level.expand[name] as ExpandTree, fields, path };
  if (isToOne(relation)) return { kind: 'toOne', name, link, projection: planLevel(childLevel) };
  const key = path.join('.');
  const narrowing = level.narrowings.get(key);
  level.narrowings.delete(key);
  const predicate = planFilter(
    narrowing?.filter,
    target,
    context,
    narrowing?.search === undefined ? undefined : planSearch(narrowing.search, target),
  );
  return {
    kind: 'toMany',
    name,
    link: { ...link, scan: shieldScan(link.scan, predicate) },
    projection: planLevel(childLevel),
    ordering: planOrdering(narrowing?.sort ?? [], target, context),
    predicate,
    size: narrowing?.size,
  };
}

function getColumns(entity: Entity): Output[] {
  return [...entity.fields.values()].map((field) => ({ kind: 'column', field }));
}
