// State of the start of this process: why requests are not answered yet, and what the processes of a server must know of
// each other before they are.

/** State that the first process passes to its workers. */
export type Readiness =
  | { readonly kind: 'waiting'; readonly message: string; readonly reason: string }
  | {
      readonly kind: 'prepared';
      readonly operatorHash: string | undefined;
      /** True when the database coordinates nodes; otherwise the start of a worker needs nothing from the database. */
      readonly hasNodes: boolean;
    };

export interface ReadinessState {
  current(): Readiness;
  /** Why requests are refused at the moment, in words for clients, or undefined if they are answered. */
  unready(): string | undefined;
  /** The same for /readyz, with details about the database. */
  reason(): string | undefined;
  /** SHA-256 (hex) of the operator's key, or undefined if it is not known yet. */
  operatorHash(): string | undefined;
  wait(message: string, reason: string): void;
  /** Lets requests be answered from now on; false, without a change, when the process is closing. */
  open(operatorHash: string | undefined, hasNodes: boolean): boolean;
  /** Replaces the operator's key; undefined: none is valid. */
  renew(operatorHash: string | undefined): void;
  close(): void;
  isClosing(): boolean;
}

export function makeReadiness(operatorHash: string | undefined): ReadinessState {
  let hash = operatorHash;
  let isClosing = false;
  let hasNodes = false;
  let message: string | undefined = 'The server is starting; retry';
  let reason = message;
  return {
    current: () =>
      message === undefined ? { kind: 'prepared', operatorHash: hash, hasNodes } : { kind: 'waiting', message, reason },
    unready: () => message,
    reason: () => (message === undefined ? undefined : reason),
    operatorHash: () => hash,
    wait(nextMessage, nextReason) {
      if (isClosing) return;
      message = nextMessage;
      reason = nextReason;
    },
    open(storedHash, nextHasNodes) {
      if (isClosing) return false;
      message = undefined;
      hash ??= storedHash;
      hasNodes = nextHasNodes;
      return true;
    },
    renew(currentHash) {
      hash = currentHash;
    },
    close() {
      isClosing = true;
      message = 'The server is shutting down';
    },
    isClosing: () => isClosing,
  };
}
