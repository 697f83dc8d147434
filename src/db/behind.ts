// Nodes behind a database that coordinates them, as far as the driver meets them: in errors, and in what a transaction
// begins with. Without such nodes there are no such errors.

export interface NodesBehind {
  /** The coordinator has lost a node. Our connection to the coordinator goes on, and so do the statements of others on it. */
  readonly isLoss: (error: unknown) => boolean;
  /** A write that met this may have been done. */
  readonly isOutcomeUnknown: (error: unknown) => boolean;
  /** Each change of a schema fails in the session from now on. */
  readonly isConfused: (error: unknown) => boolean;
  /** The coordinator has written a statement wrongly, for a table that has changed since it was made. */
  readonly isMiswritten: (error: unknown) => boolean;
  /** `host:port` of the lost node; undefined when the error does not name it. */
  readonly lostNode: (error: unknown) => string | undefined;
  /** Begins a transaction whose settings hold on the nodes, too. */
  readonly begin: string;
}

let behind: NodesBehind = {
  isLoss: () => false,
  isOutcomeUnknown: () => false,
  isConfused: () => false,
  isMiswritten: () => false,
  lostNode: () => undefined,
  begin: 'begin',
};

/** For the rest of the process: no error of one database looks like one of nodes behind another. */
export function useNodesBehind(nodes: NodesBehind): void {
  behind = nodes;
}

export const isNodeLoss = (error: unknown): boolean => behind.isLoss(error);
export const isNodeOutcomeUnknown = (error: unknown): boolean => behind.isOutcomeUnknown(error);
export const isConfused = (error: unknown): boolean => behind.isConfused(error);
export const isMiswritten = (error: unknown): boolean => behind.isMiswritten(error);
export const lostNode = (error: unknown): string | undefined => behind.lostNode(error);
export const beginOnNodes = (): string => behind.begin;
