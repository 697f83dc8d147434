// The errors of a cluster of databases and the BEGIN of its transactions, as far as the driver must know them. A single
// database has no such errors.

export interface ClusterDialect {
  /** True when the coordinator has lost a node. Our connection to it goes on, and so do other statements there. */
  readonly isLoss: (error: unknown) => boolean;
  /** True when a write that failed with this error may have been done. */
  readonly isOutcomeUnknown: (error: unknown) => boolean;
  /** True when every later schema change of the session would fail. */
  readonly isSessionBroken: (error: unknown) => boolean;
  /** True when the coordinator has rewritten a statement wrongly, for a table that has changed since. */
  readonly isStaleRewrite: (error: unknown) => boolean;
  /** Returns `host:port` of the lost node, or undefined if the error does not name it. */
  readonly findLostNode: (error: unknown) => string | undefined;
  /** BEGIN of a transaction whose settings hold on the nodes, too. */
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

/** Sets the dialect for the rest of the process: no error of a single database looks like one of a cluster. */
export function setClusterDialect(clusterDialect: ClusterDialect): void {
  dialect = clusterDialect;
}

export const isNodeLoss = (error: unknown): boolean => dialect.isLoss(error);
export const isNodeOutcomeUnknown = (error: unknown): boolean => dialect.isOutcomeUnknown(error);
export const isSessionBroken = (error: unknown): boolean => dialect.isSessionBroken(error);
export const isStaleRewrite = (error: unknown): boolean => dialect.isStaleRewrite(error);
export const findLostNode = (error: unknown): string | undefined => dialect.findLostNode(error);
export const getBeginStatement = (): string => dialect.beginStatement;
