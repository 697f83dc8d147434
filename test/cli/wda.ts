// Runs the command line as a process of its own, the way a person or a script does.

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

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
  /** Gets the process while it runs, to send it a signal. */
  readonly onStart?: (child: ChildProcess) => void;
}

const MAIN = join(import.meta.dirname, '../../src/main.ts');

/** Runs `wda` with arguments and gives its exit code and output. */
export function wda(args: readonly string[], invocation: Invocation = {}): Promise<Outcome> {
  return runNode([MAIN, ...args], invocation);
}

/** Runs a script of the project with Node. */
export async function runNode(
  args: readonly string[],
  { env = {}, stdin, cwd, onStart }: Invocation = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', ...env },
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
