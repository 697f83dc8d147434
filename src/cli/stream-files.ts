// Opens files that commands stream from and to. A file gets its name only when it is complete: it is written under a temporary
// name in the same folder and renamed.
import { createWriteStream, rmSync } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { Writable } from 'node:stream';
import { CommandFailure, runtimeFailure, unreachableFailure, usageFailure } from './failure.ts';
import type { Io } from './io.ts';

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

export interface Target {
  readonly stream: Writable;
  /** Renames the complete file to its name. */
  readonly commit: () => Promise<void>;
  readonly discard: () => Promise<void>;
}

export function stdoutTarget(io: Io): Target {
  // A pipeline would end stdout, so it gets a stream that forwards to it.
  const stream = new Writable({
    write: (chunk, _encoding, callback) => {
      io.stdout.write(chunk, callback);
    },
  });
  return { stream, commit: async () => {}, discard: async () => {} };
}

/** Creates a target file. `mode`: permissions of a new file; a replaced one keeps its own. */
export async function fileTarget(io: Io, file: string, mode = 0o666): Promise<Target> {
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

/** Explains why a download failed and what the file has now. `what`: noun such as `export`. */
export function explainLoss(error: unknown, what: string, file: string): unknown {
  if (error instanceof CommandFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const consequence = file === '-' ? 'What was printed is not whole.' : `${file} is as it was before.`;
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return unreachableFailure(`The connection was lost in the middle of the ${what}. ${consequence}`, error);
  return runtimeFailure(`The ${what} failed: ${message}. ${consequence}`, undefined, error);
}

export const isBrokenPipe = (error: unknown): boolean => (error as NodeJS.ErrnoException | null)?.code === 'EPIPE';
