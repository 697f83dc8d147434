// Requests of which nothing is repeated and nothing is forgotten: each ends in an answer, in a connection that broke, or in
// the finding that it hangs. Whatever the answer is, it is looked at for what no answer may have.
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { INTERNALS } from '../support/scenario.ts';

export interface Answered {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked into as they are expected to be
  readonly json: any;
}

/** No status: the connection broke, or the request hung and was given up; what it did is not known. */
export type Outcome = Answered | { readonly status: undefined; readonly reason: string };

export interface Ask {
  readonly method?: string;
  readonly credential: string;
  /** An object is sent as JSON, a text as CSV. */
  readonly body?: unknown;
  /** A connection of its own, so that it meets any of the processes. */
  readonly fresh?: boolean;
  /** Time that it has, in milliseconds, where that is not the usual. */
  readonly allowed?: number;
  /** The client leaves after so many milliseconds. */
  readonly leaveAfter?: number;
}

export interface Caller {
  ask(path: string, ask: Ask): Promise<Outcome>;
  readonly counts: Readonly<Record<string, number>>;
  close(): void;
}

const TICK_MS = 100;

interface CallerOptions {
  readonly port: number;
  /** Time that a request has, in milliseconds. */
  readonly allowed: number;
  readonly violation: (text: string) => void;
}

/** Requests to the server at the port of this machine. */
export function makeCaller({ port, allowed, violation }: CallerOptions): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const counts: Record<string, number> = {};
  // Time is counted in ticks of this process: when the machine has no turn for it, nobody's time passes.
  const open = new Set<{ left: number; giveUp: () => void }>();
  const ticking = setInterval(() => {
    for (const one of open) if (--one.left <= 0) one.giveUp();
  }, TICK_MS);

  function send(path: string, { method = 'GET', credential, body, fresh, allowed: own, leaveAfter }: Ask) {
    return new Promise<Outcome & { headers?: IncomingHttpHeaders }>((resolve) => {
      const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
      const sent = request({
        port,
        host: '127.0.0.1',
        agent: fresh === true ? false : agent,
        method,
        path,
        headers: {
          authorization: `Bearer ${credential}`,
          ...(text === undefined ? {} : { 'content-type': typeof body === 'string' ? 'text/csv' : 'application/json' }),
        },
      });
      let reason: string | undefined;
      const entry = {
        left: Math.ceil((own ?? allowed) / TICK_MS),
        giveUp() {
          reason = 'hung';
          sent.destroy();
        },
      };
      open.add(entry);
      const leaving =
        leaveAfter === undefined
          ? undefined
          : setTimeout(() => {
              reason = 'left';
              sent.destroy();
            }, leaveAfter);
      const end = (outcome: Outcome & { headers?: IncomingHttpHeaders }): void => {
        open.delete(entry);
        clearTimeout(leaving);
        resolve(outcome);
      };
      sent.on('error', (error) => end({ status: undefined, reason: reason ?? error.message }));
      sent.on('response', (response) => {
        let received = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          received += part;
        });
        response.on('error', () => undefined);
        response.on('close', () => {
          if (!response.complete)
            end({ status: undefined, reason: reason ?? `broke off after ${response.statusCode}` });
          else
            end({
              status: response.statusCode ?? 0,
              text: received,
              json: parse(received),
              headers: response.headers,
            });
        });
      });
      sent.end(text);
    });
  }

  return {
    counts,
    async ask(path, ask) {
      const outcome = await send(path, ask);
      const what = `${ask.method ?? 'GET'} ${path}`;
      const kind = String(outcome.status ?? (/hung|left/.test(outcome.reason) ? outcome.reason : 'broken'));
      counts[kind] = (counts[kind] ?? 0) + 1;
      if (outcome.status === undefined) {
        if (outcome.reason === 'hung') violation(`${what} had no answer within ${ask.allowed ?? allowed} ms`);
        return outcome;
      }
      const { status, text, headers } = outcome;
      if (status >= 500 && status !== 503) violation(`${what}: ${status} ${text.slice(0, 300)}`);
      if (status >= 400 && INTERNALS.test(text)) violation(`${what} shows internals: ${status} ${text.slice(0, 300)}`);
      if (status >= 400 && outcome.json?.error?.code === undefined)
        violation(`${what} is refused without a code: ${status} ${text.slice(0, 300)}`);
      // Without it when the request may have been carried out: then it is not to be repeated unseen.
      if (status === 503 && headers?.['retry-after'] === undefined && !/may have been/.test(text))
        violation(`${what}: 503 without Retry-After: ${text.slice(0, 300)}`);
      return outcome;
    },
    close() {
      clearInterval(ticking);
      agent.destroy();
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
