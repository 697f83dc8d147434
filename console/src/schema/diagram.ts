// Graph of a schema: entities, and each pair of relations once, from the side that stores it.
import { graphlib, layout } from '@dagrejs/dagre';
import type { Json } from '../api/json.ts';
import { asText, getAt, listMembers } from './json-value.ts';

export interface DiagramEntity {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly { readonly name: string; readonly type: string; readonly required: boolean }[];
  readonly relations: readonly DiagramRelation[];
}

export interface DiagramRelation {
  readonly name: string;
  readonly kind: string;
  readonly to: string;
}

export interface Line {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly isMany: boolean;
}

/** Lists the entities with their members, in the order of the document. */
export const listEntities = (document: Json): readonly DiagramEntity[] =>
  listMembers(getAt(document, ['entities'])).map(([name, entity]) => ({
    name,
    description: asText(getAt(entity, ['description'])),
    fields: listMembers(getAt(entity, ['fields'])).map(([field, one]) => ({
      name: field,
      type: asText(getAt(one, ['type'])),
      required: getAt(one, ['required']) === true,
    })),
    relations: listMembers(getAt(entity, ['relations'])).map(([relation, one]) => ({
      name: relation,
      kind: asText(getAt(one, ['kind'])),
      to: asText(getAt(one, ['entity'])),
    })),
  }));

/**
 * Lists one line for each stored relation (belongsTo) and for each many-to-many pair. Inverse relations are the same
 * lines.
 */
export function listLines(entities: readonly DiagramEntity[]): readonly Line[] {
  const names = new Set(entities.map(({ name }) => name));
  const drawnPairs = new Set<string>();
  return entities.flatMap(({ name: from, relations }) =>
    relations.flatMap(({ name, kind, to }): Line[] => {
      if (!names.has(to)) return [];
      if (kind === 'belongsTo') return [{ id: `${from}.${name}`, from, to, label: name, isMany: false }];
      if (kind !== 'manyToMany' || drawnPairs.has(`${to} ${from}`)) return [];
      drawnPairs.add(`${from} ${to}`);
      return [{ id: `${from}.${name}`, from, to, label: name, isMany: true }];
    }),
  );
}

/** Returns an entity and its neighbours on lines in either direction. */
export function findNeighbours(lines: readonly Line[], entity: string): ReadonlySet<string> {
  const neighbours = lines.filter(({ from, to }) => from === entity || to === entity);
  return new Set([entity, ...neighbours.flatMap(({ from, to }) => [from, to])]);
}

export interface Box {
  readonly width: number;
  readonly height: number;
}

export interface Position extends Box {
  readonly x: number;
  readonly y: number;
}

/** Number of fields in an entity's box; longer ones show a count. */
export const MAX_FIELDS = 8;
const WIDTH = 190;
const GAP = 24;

export const measureBox = ({ fields }: DiagramEntity): Box => ({
  width: WIDTH,
  height: 34 + Math.min(fields.length, MAX_FIELDS) * 18 + (fields.length > MAX_FIELDS ? 18 : 0) + 6,
});

// Limit for layout by ranks: beyond it ranks are an unreadable strip (100 entities: 1,230 by 7,680 px) and take more
// than a second for 200.
const MOST_RANKED = 60;

/**
 * Returns positions (upper left corners) by entity: related ones from left to right, unrelated ones in rows below.
 * Above the limit related entities are close to each other in columns.
 */
export function layOut(entities: readonly DiagramEntity[], lines: readonly Line[]): ReadonlyMap<string, Position> {
  if (entities.length > MOST_RANKED) return layOutInColumns(sortByRelations(entities, lines));
  const related = new Set(lines.filter(({ from, to }) => from !== to).flatMap(({ from, to }) => [from, to]));
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: GAP, ranksep: 70 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const entity of entities) if (related.has(entity.name)) graph.setNode(entity.name, { ...measureBox(entity) });
  for (const { id, from, to } of lines) if (from !== to) graph.setEdge(from, to, {}, id);
  if (related.size > 0) layout(graph);
  const places = new Map<string, Position>();
  for (const name of graph.nodes()) {
    const { x, y, width, height } = graph.node(name) as Position;
    places.set(name, { x: x - width / 2, y: y - height / 2, width, height });
  }
  layOutUnrelated(
    entities.filter(({ name }) => !related.has(name)),
    places,
  );
  return places;
}

/** Sorts entities by a breadth-first search from the one with the most relations, so that related ones are close. */
function sortByRelations(entities: readonly DiagramEntity[], lines: readonly Line[]): readonly DiagramEntity[] {
  const neighbours = new Map<string, string[]>(entities.map(({ name }) => [name, []]));
  for (const { from, to } of lines) {
    neighbours.get(from)?.push(to);
    neighbours.get(to)?.push(from);
  }
  const related = (name: string): number => neighbours.get(name)?.length ?? 0;
  const byName = new Map(entities.map((entity) => [entity.name, entity]));
  const busiest = [...byName.keys()].sort((one, other) => related(other) - related(one));
  const order = new Set<string>();
  // A loop over a set includes members that are added during it.
  for (const first of busiest) {
    if (order.has(first)) continue;
    const cluster = new Set([first]);
    for (const name of cluster) {
      order.add(name);
      for (const other of neighbours.get(name) ?? []) if (byName.has(other) && !order.has(other)) cluster.add(other);
    }
  }
  return [...order].map((name) => byName.get(name) as DiagramEntity);
}

const BETWEEN_COLUMNS = 70;
// Ratio of width to height of a screen.
const ASPECT = 1.6;

/** Places entities in columns, from top to bottom and left to right, with the ratio of a screen. */
function layOutInColumns(entities: readonly DiagramEntity[]): ReadonlyMap<string, Position> {
  const boxes = entities.map((entity) => [entity.name, measureBox(entity)] as const);
  const height = boxes.reduce((sum, [, box]) => sum + box.height + GAP, 0);
  const tallest = Math.sqrt((height * (WIDTH + BETWEEN_COLUMNS)) / ASPECT);
  const places = new Map<string, Position>();
  let [x, y] = [0, 0];
  for (const [name, box] of boxes) {
    if (y > 0 && y + box.height > tallest) [x, y] = [x + WIDTH + BETWEEN_COLUMNS, 0];
    places.set(name, { x, y, ...box });
    y += box.height + GAP;
  }
  return places;
}

function layOutUnrelated(alone: readonly DiagramEntity[], places: Map<string, Position>): void {
  const below = Math.max(0, ...[...places.values()].map(({ y, height }) => y + height + 2 * GAP));
  const columns = Math.max(4, Math.ceil(Math.sqrt(alone.length)));
  let [row, tallest] = [below, 0];
  alone.forEach((entity, index) => {
    const column = index % columns;
    if (column === 0 && index > 0) [row, tallest] = [row + tallest + GAP, 0];
    const box = measureBox(entity);
    tallest = Math.max(tallest, box.height);
    places.set(entity.name, { x: column * (WIDTH + GAP), y: row, ...box });
  });
}
