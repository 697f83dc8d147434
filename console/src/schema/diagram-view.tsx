// Diagram of the schema. Everything in it is also possible in the entity list next to it.
import '@xyflow/react/dist/style.css';
import { useComputedColorScheme } from '@mantine/core';
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeChange,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
} from '@xyflow/react';
import { memo, useEffect, useMemo, useRef } from 'react';
import { type DiagramEntity, findNeighbours, type Line, layOut, MAX_FIELDS } from './diagram.ts';
import classes from './schema.module.css';

export interface DiagramViewProps {
  readonly entities: readonly DiagramEntity[];
  readonly lines: readonly Line[];
  readonly at: string | undefined;
  readonly onChoose: (name: string) => void;
}

type EntityNode = Node<{ readonly entity: DiagramEntity; readonly isAt: boolean; readonly isFar: boolean }, 'entity'>;

// Limit up to which the whole diagram is drawn: 100 entities take some 0.1 s, 500 more than a second and cannot be
// read. Above it only the visible part is drawn.
const DRAWN_WHOLE = 150;
const WHOLE = { maxZoom: 1 };
// Initial viewport; entities with the most relations come first.
const BEGINNING = { x: 24, y: 24, zoom: 0.6 };

const EntityBox = memo(function EntityBox({ data: { entity, isAt, isFar } }: NodeProps<EntityNode>) {
  const more = entity.fields.length - MAX_FIELDS;
  return (
    <div className={classes.node} data-is-at={isAt} data-is-far={isFar}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <div className={classes.head}>
        <bdi>{entity.name}</bdi>
      </div>
      {entity.fields.slice(0, MAX_FIELDS).map(({ name, type, required }) => (
        <div key={name} className={classes.field}>
          <bdi>{name}</bdi>
          <span>
            {type}
            {required ? ' *' : ''}
          </span>
        </div>
      ))}
      {more > 0 && <div className={classes.field}>and {more} more</div>}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
});

const NODE_TYPES = { entity: EntityBox };

export function DiagramView({ entities, lines, at, onChoose }: DiagramViewProps) {
  const scheme = useComputedColorScheme('light');
  const flow = useRef<ReactFlowInstance<EntityNode, Edge>>(null);
  const visibleLines = useMemo(() => {
    const names = new Set(entities.map(({ name }) => name));
    return lines.filter(({ from, to }) => names.has(from) && names.has(to));
  }, [entities, lines]);
  const positions = useMemo(() => layOut(entities, visibleLines), [entities, visibleLines]);
  const neighbours = useMemo(
    () => (at === undefined ? undefined : findNeighbours(visibleLines, at)),
    [visibleLines, at],
  );
  const nodes = useMemo(
    () =>
      entities.map((entity): EntityNode => {
        const { x = 0, y = 0, width = 0, height = 0 } = positions.get(entity.name) ?? {};
        return {
          id: entity.name,
          type: 'entity',
          position: { x, y },
          width,
          height,
          selected: entity.name === at,
          ariaLabel: describeEntity(entity),
          data: { entity, isAt: entity.name === at, isFar: neighbours !== undefined && !neighbours.has(entity.name) },
        };
      }),
    [entities, positions, at, neighbours],
  );
  const edges = useMemo(() => visibleLines.map((line) => toEdge(line, at)), [visibleLines, at]);
  useEffect(() => {
    if (at !== undefined && positions.has(at))
      void flow.current?.fitView({ nodes: [{ id: at }], maxZoom: 1, duration: 0 });
  }, [at, positions]);
  useEffect(() => {
    if (positions.size > DRAWN_WHOLE) void flow.current?.setViewport(BEGINNING);
    else if (positions.size > 0) void flow.current?.fitView(WHOLE);
  }, [positions]);
  const isLarge = entities.length > DRAWN_WHOLE;
  const onNodesChange = (changes: NodeChange<EntityNode>[]): void => {
    for (const change of changes) if (change.type === 'select' && change.selected) onChoose(change.id);
  };
  return (
    <section className={classes.diagram} aria-label="Diagram of the schema">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        onInit={(instance) => {
          flow.current = instance;
        }}
        onNodesChange={onNodesChange}
        colorMode={scheme}
        fitView={!isLarge}
        fitViewOptions={WHOLE}
        defaultViewport={BEGINNING}
        minZoom={0.05}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        onlyRenderVisibleElements={isLarge}
        deleteKeyCode={null}
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  );
}

const describeEntity = ({ name, fields, relations }: DiagramEntity): string =>
  `${name}: ${fields.length} fields${relations.map((one) => `, ${one.name} ${one.kind} ${one.to}`).join('')}`;

function toEdge({ id, from, to, label, isMany }: Line, at: string | undefined): Edge {
  const isNear = from === at || to === at;
  return {
    id,
    source: from,
    target: to,
    type: 'default',
    ...(isNear ? { label } : {}),
    animated: false,
    selectable: false,
    style: { strokeWidth: isNear ? 2 : 1, ...(isMany ? { strokeDasharray: '5 4' } : {}) },
    markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14 },
    ...(isMany ? { markerStart: { type: MarkerType.ArrowClosed, width: 14, height: 14 } } : {}),
  };
}
