// The cluster, plans of a rebalance and moves as the admin API gives them, and as text. Pure.
import { numberText } from '../model/exact-json.ts';
import { formatBytes, type StepState } from './progress.ts';
import { renderPairs, renderTable } from './table.ts';

export interface ClusterNode {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly takesWorkspaces: boolean;
  readonly workspaces: unknown;
  readonly bytes: unknown;
}

export interface Status {
  readonly version: string;
  readonly triggers: boolean;
  readonly nodes: readonly ClusterNode[];
}

export interface Placed {
  readonly organization: string;
  readonly workspace: string;
  readonly node: string;
  readonly bytes: unknown;
}

export interface Plan {
  readonly moves: readonly {
    readonly organization: string;
    readonly workspace: string;
    readonly from: string;
    readonly to: string;
    readonly bytes: unknown;
  }[];
  readonly bytes: unknown;
  readonly nodes: readonly { readonly name: string; readonly bytes: unknown; readonly bytesAfter: unknown }[];
}

export interface Move {
  readonly id: unknown;
  readonly organization: string;
  readonly workspace: string;
  readonly from: string;
  readonly to: string;
  readonly state: string;
  readonly progress: {
    readonly phase: string;
    readonly bytes: { readonly done: unknown; readonly total: unknown };
  } | null;
  readonly error: string | null;
  readonly startedAt?: string | null;
  readonly finishedAt?: string | null;
}

export const hasEnded = ({ state }: Move): boolean => ['succeeded', 'failed', 'cancelled'].includes(state);

const bytes = (value: unknown): string => (value === null ? '-' : formatBytes(amount(value)));
const amount = (value: unknown): number => Number(numberText(value) ?? 0);

export function describeStatus({ version, triggers, nodes }: Status): string {
  return [
    renderPairs([
      ['Citus', version],
      ['Triggers', triggers ? 'on' : 'off'],
    ]),
    '',
    renderTable(
      ['NODE', 'ROLE', 'STATE', 'TAKES WORKSPACES', 'WORKSPACES', 'SIZE'],
      nodes.map((node) => [
        node.name,
        node.role,
        node.state,
        node.takesWorkspaces ? 'yes' : 'no',
        node.workspaces,
        bytes(node.bytes),
      ]),
      ['WORKSPACES', 'SIZE'],
    ),
  ].join('\n');
}

export const describePlaced = (placed: readonly Placed[]): string =>
  placed.length === 0
    ? 'No workspaces there'
    : renderTable(
        ['WORKSPACE', 'NODE', 'SIZE'],
        placed.map((one) => [`${one.organization}/${one.workspace}`, one.node, bytes(one.bytes)]),
        ['SIZE'],
      );

export function describePlan({ moves, nodes, bytes: all }: Plan): string {
  if (moves.length === 0) return 'Nothing to move: the nodes hold about the same';
  return [
    renderTable(
      ['#', 'WORKSPACE', 'FROM', 'TO', 'SIZE'],
      moves.map((one, index) => [
        index + 1,
        `${one.organization}/${one.workspace}`,
        one.from,
        one.to,
        bytes(one.bytes),
      ]),
      ['#', 'SIZE'],
    ),
    '',
    renderTable(
      ['NODE', 'NOW', 'THEN'],
      nodes.map((one) => [one.name, bytes(one.bytes), bytes(one.bytesAfter)]),
      ['NOW', 'THEN'],
    ),
    '',
    `${moves.length} move${moves.length === 1 ? '' : 's'} of ${bytes(all)} in all. Do them: wda cluster rebalance --apply`,
  ].join('\n');
}

/** `acme/shop: 10.0.0.11:5432 -> 10.0.0.12:5432` */
export const nameOf = ({ organization, workspace, from, to }: Move): string =>
  `${organization}/${workspace}: ${from} -> ${to}`;

export const describeMoves = (moves: readonly Move[]): string =>
  moves.length === 0
    ? 'No moves'
    : renderTable(
        ['ID', 'WORKSPACE', 'FROM', 'TO', 'STATE', 'PHASE', 'STARTED', 'FINISHED', 'ERROR'],
        moves.map((one) => [
          one.id,
          `${one.organization}/${one.workspace}`,
          one.from,
          one.to,
          one.state,
          one.progress === null ? '-' : (WORDS[one.progress.phase] ?? one.progress.phase),
          one.startedAt,
          one.finishedAt,
          one.error,
        ]),
        ['ID'],
      );

const WORDS: Readonly<Record<string, string>> = {
  preparing: 'preparing',
  copying: 'copying records',
  indexing: 'making indexes',
  catchingUp: 'catching up with writes',
  switching: 'switching',
};

/** How far a move is; the words of each phase are a step of their own. */
export function makeMoveWatch(): (move: Move, now: number) => StepState {
  let first: { readonly label: string; readonly at: number; readonly share: number } | undefined;
  return (move, now) => {
    const { progress, state } = move;
    const phase =
      progress === null ? (state === 'pending' ? 'waiting for its turn' : 'at work') : WORDS[progress.phase];
    const label = `${nameOf(move)}: ${phase}`;
    const total = amount(progress?.bytes.total);
    const share = progress?.phase === 'copying' && total > 0 ? amount(progress.bytes.done) / total : null;
    if (first?.label !== label) first = { label, at: now, share: share ?? 0 };
    const elapsedMs = now - first.at;
    const done = (share ?? 0) - first.share;
    return {
      label,
      share,
      rate: null,
      leftMs: share === null || done <= 0 ? null : ((1 - share) / done) * elapsedMs,
      elapsedMs,
    };
  };
}
