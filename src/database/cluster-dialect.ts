// Nodes behind a database that coordinates them, as far as the driver meets them: in errors, and in what a transaction
// begins with. Without such nodes there are no such errors.

export interface ClusterDialect {
  /** The coordinator has lost a node. Our connection to the coordinator goes on, and so do the statements of others on it. */
  readonly isLoss: (error: unknown) => boolean;
  /** A write that met this may have been done. */
  readonly isOutcomeUnknown: (error: unknown) => boolean;
  /** Each change of a schema fails in the session from now on. */
  readonly isSessionBroken: (error: unknown) => boolean;
  /** The coordinator has written a statement wrongly, for a table that has changed since it was made. */
  readonly isStaleRewrite: (error: unknown) => boolean;
  /** `host:port` of the lost node; undefined when the error does not name it. */
  readonly findLostNode: (error: unknown) => string | undefined;
  /** Begins a transaction whose settings hold on the nodes, too. */
  readonly beginStatement: string;
}

let dialect: ClusterDialect = {
  isLoss: () => false,
  isOutcomeUnknown: () => false,
  isSessionBroken: () => false,
  isStaleRewrite: () => false,
  findLostNode: () => undefined,
  beginStatement: 'begin',
};

/** For the rest of the process: no error of one database looks like one of nodes behind another. */
export function setClusterDialect(clusterDialect: ClusterDialect): void {
  dialect = clusterDialect;
}

export const isNodeLoss = (error: unknown): boolean => dialect.isLoss(error);
export const isNodeOutcomeUnknown = (error: unknown): boolean => dialect.isOutcomeUnknown(error);
export const isSessionBroken = (error: unknown): boolean => dialect.isSessionBroken(error);
export const isStaleRewrite = (error: unknown): boolean => dialect.isStaleRewrite(error);
export const findLostNode = (error: unknown): string | undefined => dialect.findLostNode(error);
export const getBeginStatement = (): string => dialect.beginStatement;
