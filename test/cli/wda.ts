// Runs the command line: in this process, or, where the process itself is tested, as one of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { runWda } from '../../src/cli/program.ts';

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Invocation {
  /** Variables beside the inherited ones; WDA_ variables are never inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | AsyncIterable<string | Uint8Array>;
  readonly cwd?: string;
}

/** An invocation with a process of its own. */
export interface Spawned extends Invocation {
  /** Gets the process while it runs, to send it a signal. */
  readonly onStart?: (child: ChildProcess) => void;
}

const MAIN = join(import.meta.dirname, '../../src/main.ts');

const inherited = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  NO_COLOR: '1',
});

/** Runs `wda` with arguments and gives its exit code and output. */
export async function wda(
  args: readonly string[],
  { env = {}, stdin = '', cwd = process.cwd() }: Invocation = {},
): Promise<Outcome> {
  const [stdout, stderr] = [collect(), collect()];
  const code = await runWda(args, {
    env: { ...inherited(), ...env },
    cwd,
    stdin: Readable.from(typeof stdin === 'string' ? [Buffer.from(stdin)] : stdin, { objectMode: false }),
    stdout: stdout.stream,
    stderr: stderr.stream,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collect(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

/** Runs `wda` as a process, the way a person or a script does. */
export function spawnWda(args: readonly string[], invocation: Spawned = {}): Promise<Outcome> {
  return runNode([MAIN, ...args], invocation);
}

/** Runs a script of the project with Node. */
export async function runNode(
  args: readonly string[],
  { env = {}, stdin, cwd, onStart }: Spawned = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...inherited(), ...env },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  onStart?.(child);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (child.stdin !== null && stdin !== undefined) {
    // A command that has seen enough closes its stdin; that is its right.
    child.stdin.on('error', () => {});
    if (typeof stdin === 'string') child.stdin.end(stdin);
    else {
      for await (const chunk of stdin) if (!child.stdin.destroyed) child.stdin.write(chunk);
      child.stdin.end();
    }
  }
  const code = await closed;
  return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}
