// A request as a value: bytes and headers, the body read only when the handler reads it, so that a refusal never waits for
// it.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { badRequest } from '../errors.ts';
import type { FairScheduler, TimeSlices } from '../limits/fair-scheduler.ts';
import {
  type AnswerMemory,
  type MemoryBudget,
  type Release,
  type Transfer,
  UNMEASURED,
} from '../limits/memory-budget.ts';
import type { Credential } from '../model/credential.ts';
import { type BodyLimits, BodyProgress, limitLength, readBody } from './body.ts';
import type { UnreadMemory } from './reply.ts';

export interface RawRequest {
  readonly id: string;
  /** Time when its head was read, on the clock of performance.now(). */
  readonly arrivedAt: number;
  readonly method: string;
  /** Path as sent, without the query. */
  readonly path: string;
  /** Raw query string, without `?`. */
  readonly query: string;
  readonly headers: Readonly<IncomingMessage['headers']>;
  /** Credential of the client. */
  readonly credential: Credential;
  /** Address of the peer, or undefined if the connection is gone. */
  readonly address: string | undefined;
  /** Reads the whole body; 413 beyond `maxBytes`, 400 when it stops arriving. */
  readonly body: (maxBytes: number) => Promise<Buffer>;
  /** Returns the body as a stream, for imports. It fails when it is silent for too long. */
  readonly stream: () => Readable;
  /** Signal of the client: no work is started for a client that has left. */
  readonly signal: RequestSignal;
  /** Time slices for long work. */
  readonly slices: TimeSlices;
  /** Memory of the answer, or undefined if it has no limit. */
  readonly answerMemory?: AnswerMemory | undefined;
}

export interface RequestSignal {
  readonly isAborted: () => boolean;
  /** Calls `listener` once when the connection of the request closes; returns the function that removes the listener. */
  readonly onAbort: (listener: () => void) => () => void;
}

export interface RawRequestOptions {
  readonly id: string;
  readonly arrivedAt: number;
  /** Returns the scheduling group of a URL. */
  readonly getGroup: (url: string) => string;
  readonly shared: SharedLimits;
}

/** Limits that all requests of the server share. */
export interface SharedLimits {
  readonly bodyTimeoutMs: number;
  readonly scheduler: Pick<FairScheduler, 'slices'>;
  readonly memory: MemoryBudget;
  readonly answerBudget: MemoryBudget;
}

/** A class, as each request has one: closures in place of its methods took 1 µs. */
export class HttpRequest implements RawRequest, RequestSignal, AnswerMemory, UnreadMemory {
  readonly id: string;
  readonly arrivedAt: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<IncomingMessage['headers']>;
  readonly #message: IncomingMessage;
  readonly #getGroup: RawRequestOptions['getGroup'];
  readonly #shared: SharedLimits;
  #whole: Promise<Buffer> | undefined;
  #release: Release | undefined;
  #releaseAnswer: Release | undefined;
  #answerBytes = 0;
  #isFinished = false;
  #limit = 0;

  constructor(message: IncomingMessage, { id, arrivedAt, getGroup, shared }: RawRequestOptions) {
    const url = message.url ?? '/';
    const at = url.indexOf('?');
    this.id = id;
    this.arrivedAt = arrivedAt;
    this.method = message.method ?? 'GET';
    this.path = at < 0 ? url : url.slice(0, at);
    this.query = at < 0 ? '' : url.slice(at + 1);
    this.headers = message.headers;
    this.#message = message;
    this.#getGroup = getGroup;
    this.#shared = shared;
  }

  get credential(): Credential {
    return this.headers.authorization;
  }

  get address(): string | undefined {
    return this.#message.socket.remoteAddress;
  }

  get signal(): RequestSignal {
    return this;
  }

  get slices(): TimeSlices {
    return this.#shared.scheduler.slices(this.#group);
  }

  /** Scheduling group: the workspace. */
  get #group(): string {
    return this.#getGroup(this.#message.url ?? '/');
  }

  get answerMemory(): AnswerMemory {
    return this;
  }

  isFull(): boolean {
    return this.#shared.answerBudget.isFull(this.#group);
  }

  async reserve(bytes: number): Promise<void> {
    // Statements of one request run one after the other.
    if (bytes <= this.#answerBytes) return;
    this.#releaseAnswer?.();
    this.#answerBytes = bytes;
    const release = await this.#shared.answerBudget.reserve(this.#group, bytes, UNMEASURED);
    // Reads of a replay run at once, and another may have reserved meanwhile.
    this.#releaseAnswer?.();
    this.#releaseAnswer = release;
    if (this.#isFinished) release();
  }

  countUnread(bytes: number, transfer: Transfer): Release {
    return this.#shared.answerBudget.add(this.#group, bytes, transfer);
  }

  body(maxBytes: number): Promise<Buffer> {
    // A request that is retried after a schema change reads its body again.
    if (this.#whole === undefined) {
      this.#whole = this.#readWhole(maxBytes);
      this.#limit = maxBytes;
      return this.#whole;
    }
    // An earlier read had a larger limit.
    return maxBytes >= this.#limit ? this.#whole : this.#whole.then((bytes) => limitLength(bytes, maxBytes));
  }

  #readWhole(maxBytes: number): Promise<Buffer> {
    const declaredLength = this.#message.headers['content-length'];
    // A body of undeclared length may become as long as allowed.
    const bytes = declaredLength === undefined ? maxBytes : Number(declaredLength);
    const { bodyTimeoutMs } = this.#shared;
    const limits = { maxBytes, timeoutMs: bodyTimeoutMs };
    if (bytes <= SHORT_BODY || bytes > maxBytes) return readBody(this.#message, limits);
    return this.#readWithin(bytes, limits);
  }

  /** Reads a long body once the memory budget has capacity for it. */
  async #readWithin(bytes: number, limits: BodyLimits): Promise<Buffer> {
    const progress = new BodyProgress(bytes, limits.timeoutMs);
    const release = await this.#shared.memory.reserve(this.#group, bytes, progress);
    // The request may have been answered meanwhile, or its client may have left.
    if (this.#isFinished || this.isAborted()) {
      release();
      throw badRequest('BODY_INTERRUPTED', 'The request body was cut off');
    }
    this.#release = release;
    return readBody(this.#message, limits, progress);
  }

  /** Ends the request, which has been answered: its body is no longer needed. */
  finish(): void {
    this.#isFinished = true;
    this.#release?.();
    this.#releaseAnswer?.();
  }

  /**
   * Reads the rest of the body of an answered request and drops it, within bounds; then the connection ends. Returns a promise
   * of that end, or undefined if nothing is left.
   */
  discardRest(): Promise<void> | undefined {
    const message = this.#message;
    if (message.complete || message.destroyed) return undefined;
    let bytes = 0;
    const timer = setTimeout(() => message.destroy(), MAX_DISCARD_MS);
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DISCARDED_BYTES) message.destroy();
    });
    message.on('error', ignore);
    message.resume();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      message.once('end', end);
      message.once('close', end);
    });
  }

  stream(): Readable {
    const message = this.#message;
    const { socket } = message;
    const onTimeout = (): void => void message.destroy(new Error('the request body stopped arriving'));
    socket.setTimeout(this.#shared.bodyTimeoutMs, onTimeout);
    message.once('close', () => {
      socket.setTimeout(0);
      socket.off('timeout', onTimeout);
    });
    return message;
  }

  isAborted(): boolean {
    return this.#message.socket.destroyed;
  }

  onAbort(listener: () => void): () => void {
    const { socket } = this.#message;
    socket.once('close', listener);
    return () => void socket.off('close', listener);
  }
}

const ignore = (): void => undefined;

// Bytes of a refused body that are still read, so that the client gets the answer: most clients look for it only after they
// have sent everything, and lose it if the connection is closed.
const MAX_DISCARDED_BYTES = 67_108_864;
const MAX_DISCARD_MS = 5000;

// Bodies up to this length are not counted in the memory budget: 1,000 of them are 64 MB.
const SHORT_BODY = 65_536;
