// Refusals of the API as one class of error.

/** One mistake. `index` counts the records of a request from 0, `row` those of a file from 1. */
export interface Detail {
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
  readonly index?: number;
  readonly row?: number;
}

export interface RefusalParts {
  /** 0 when no answer came. */
  readonly status: number;
  /** Of the API; UNREACHABLE when no answer came. */
  readonly code: string;
  readonly details?: readonly Detail[] | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly blocksReads?: boolean | undefined;
  readonly blocksWrites?: boolean | undefined;
  /** Index of the operation of a batch. */
  readonly operation?: number | undefined;
}

/** `message` is in the words of the server. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly Detail[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly blocksReads: boolean | undefined;
  readonly blocksWrites: boolean | undefined;
  readonly operation: number | undefined;

  constructor(message: string, parts: RefusalParts) {
    super(message);
    this.name = 'Refusal';
    this.status = parts.status;
    this.code = parts.code;
    this.details = parts.details ?? [];
    this.requestId = parts.requestId;
    this.retryAfterSeconds = parts.retryAfterSeconds;
    this.blocksReads = parts.blocksReads;
    this.blocksWrites = parts.blocksWrites;
    this.operation = parts.operation;
  }
}

export const isRefusal = (thrown: unknown, code?: string): thrown is Refusal =>
  thrown instanceof Refusal && (code === undefined || thrown.code === code);
