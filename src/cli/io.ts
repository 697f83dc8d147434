// Environment, folder and streams of the process, which commands get as a parameter so that a test can run many of them in
// one process.
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text as readStream } from 'node:stream/consumers';
import { type Environment, processEnvironment } from '../config.ts';
import { runtimeFailure } from './failure.ts';

export interface Io {
  readonly env: Environment;
  /** Folder that relative paths start from. */
  readonly cwd: string;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** Returns the real process. */
export const processIo = (): Io => ({
  env: processEnvironment(),
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});

/** Prints the result of a command: one JSON document for scripts, or the text of `describe` for people. */
export async function printResult(
  { io, json }: { readonly io: Io; readonly json?: boolean | undefined },
  value: unknown,
  describe: () => string,
): Promise<void> {
  await writeOut(io, `${json ? JSON.stringify(value, null, 2) : describe()}\n`);
}

/** Writes text to stdout and waits until the system has taken it, so that a pipe gets all of it. */
export function writeOut({ stdout }: Io, text: string): Promise<void> {
  return new Promise((fulfill, reject) => {
    stdout.write(text, (error) => (error ? reject(error) : fulfill()));
  });
}

/** Reads the text of a file; `-` is stdin. */
export async function readInput(io: Io, path: string): Promise<string> {
  try {
    return path === '-' ? await readStream(io.stdin) : await readFile(resolve(io.cwd, path), 'utf8');
  } catch (error) {
    throw runtimeFailure(`Cannot read ${path === '-' ? 'stdin' : path}: ${(error as Error).message}`, undefined, error);
  }
}
