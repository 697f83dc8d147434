// Environment, folder and streams of the process, which commands get as a parameter so that a test can run many of them in
// one process; and the files that commands stream from and to. A file gets its name only when it is complete: it is written
// under a temporary name in the same folder and renamed.

import { createWriteStream, rmSync } from 'node:fs';
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { type Readable, Transform, Writable } from 'node:stream';
import { text as readStream } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type Environment, processEnvironment } from '../config.ts';
import { CommandFailure, runtimeFailure, unreachableFailure, usageFailure } from './failure.ts';

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

// Reads large chunks: the bottleneck is the event loop, not the disk.
const CHUNK_BYTES = 256 * 1024;

interface Source {
  /** Size in bytes, or null if it is unknown (stdin, pipes). */
  readonly size: number | null;
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly close: () => Promise<void>;
}

/** Opens a file for streaming; throws a failure that says why it cannot be read. */
export async function openSource(io: Io, file: string): Promise<Source> {
  if (file === '-') {
    if (io.stdin.isTTY)
      throw usageFailure('Nothing is piped into stdin', ['Example: cat people.csv | wda import people - --format csv']);
    return { size: null, chunks: io.stdin, close: async () => {} };
  }
  try {
    const handle = await open(resolve(io.cwd, file), 'r');
    const stat = await handle.stat();
    if (stat.isDirectory()) {
      await handle.close();
      throw new Error('it is a directory');
    }
    const stream = handle.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false });
    const close = async (): Promise<void> => {
      stream.destroy();
      await handle.close();
    };
    return { size: stat.isFile() ? stat.size : null, chunks: stream, close };
  } catch (error) {
    throw runtimeFailure(`Cannot read ${file}: ${(error as Error).message}`, undefined, error);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Target {
  readonly stream: Writable;
  /** Renames the complete file to its name. */
  readonly commit: () => Promise<void>;
  readonly discard: () => Promise<void>;
}

function stdoutTarget(io: Io): Target {
  // A pipeline would end stdout, so it gets a stream that forwards to it.
  const stream = new Writable({
    write: (chunk, _encoding, callback) => {
      io.stdout.write(chunk, callback);
    },
  });
  return { stream, commit: async () => {}, discard: async () => {} };
}

/** Creates a target file. `mode`: permissions of a new file; a replaced one keeps its own. */
async function fileTarget(io: Io, file: string, mode = 0o666): Promise<Target> {
  const path = resolve(io.cwd, file);
  try {
    const existing = await stat(path).catch(() => undefined);
    if (existing?.isDirectory()) throw new Error('it is a directory');
    // Devices and pipes are written directly, because a rename would replace them.
    if (existing !== undefined && !existing.isFile())
      return { stream: createWriteStream(path, { flags: 'w' }), commit: async () => {}, discard: async () => {} };
    const destination = existing === undefined ? path : await realpath(path);
    const part = `${destination}.${process.pid}.part`;
    const handle = await open(part, 'wx', existing?.mode ?? mode);
    const discard = async (): Promise<void> => {
      stopListening();
      await handle.close().catch(() => undefined);
      await rm(part, { force: true });
    };
    const onSignal = (signal: NodeJS.Signals): void => {
      rmSync(part, { force: true });
      process.exit(128 + constants.signals[signal]);
    };
    const stopListening = (): void => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    };
    for (const signal of SIGNALS) process.once(signal, onSignal);
    return {
      // Flushes before closing, so that the renamed file is complete even after a power cut.
      stream: handle.createWriteStream({ flush: true }),
      commit: async () => {
        await rename(part, destination);
        stopListening();
      },
      discard,
    };
  } catch (error) {
    throw runtimeFailure(`Cannot write ${file}: ${(error as Error).message}`, undefined, error);
  }
}

/**
 * Streams a response into a file, or to stdout for `-`, and returns the number of bytes. `what`: a noun such as `export`; `mode`:
 * permissions of a new file. Throws a failure that says what the file has now; a reader that leaves is none.
 */
export async function saveStream(
  io: Io,
  file: string,
  { what, mode, onChunk }: { what: string; mode?: number; onChunk: (chunk: Uint8Array, bytes: number) => void },
  open: () => Promise<Readable>,
): Promise<number> {
  const target = file === '-' ? stdoutTarget(io) : await fileTarget(io, file, mode);
  let bytes = 0;
  const meter = new Transform({
    transform(chunk: Uint8Array, _encoding, callback) {
      bytes += chunk.byteLength;
      onChunk(chunk, bytes);
      callback(null, chunk);
    },
  });
  try {
    await pipeline(await open(), meter, target.stream);
    await target.commit();
  } catch (error) {
    await target.discard();
    if (file !== '-' || (error as NodeJS.ErrnoException | null)?.code !== 'EPIPE') throw explainLoss(error, what, file);
  }
  return bytes;
}

function explainLoss(error: unknown, what: string, file: string): unknown {
  if (error instanceof CommandFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const consequence = file === '-' ? 'What was printed is not whole.' : `${file} is as it was before.`;
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return unreachableFailure(`The connection was lost in the middle of the ${what}. ${consequence}`, error);
  return runtimeFailure(`The ${what} failed: ${message}. ${consequence}`, undefined, error);
}

/**
 * Sends a body as a stream and reports the bytes sent so far, and its end. The failure of a lost connection says what follows:
 * `ifAll` when the whole body had been sent, else `ifPart`.
 */
export async function sendStream<T>(
  chunks: AsyncIterable<Uint8Array>,
  { onProgress, ifAll, ifPart }: { onProgress: (bytes: number, isAll: boolean) => void; ifAll: string; ifPart: string },
  send: (body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  let isAll = false;
  const countChunks = async function* (): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      yield chunk;
      onProgress(bytes, false);
    }
    isAll = true;
    onProgress(bytes, true);
  };
  try {
    return await send(countChunks());
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.failure.kind !== 'unreachable') throw error;
    throw unreachableFailure(`${error.failure.message}. ${isAll ? ifAll : ifPart}`, error);
  }
}
