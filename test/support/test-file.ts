// The test files of a process, one after the other. A process that loads the server takes 0.6 to 1.3 s of a processor
// before its first test, so files share one: test/run.ts starts a few, and each takes the next file when it is done.
import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, suite } from 'node:test';
import { pathToFileURL } from 'node:url';

/** Limit for the tests of one file, far above what the longest takes on a busy machine: it ends one that hangs. */
const TIMEOUT_MS = 900_000;

let current: string | undefined;

/** Path of the file whose tests run. */
export const testFile = (): string => current ?? process.argv[1] ?? '';

let endFile: (() => unknown) | undefined;

/** Has `end` called after the tests of each file and their hooks. */
export function afterEachFile(end: () => unknown): void {
  endFile = end;
  // Hooks of a module are those of the first file that imports it.
  if (current === undefined) after(end);
}

/** A value for the file whose tests run, made again for the next one. */
export function perFile<T>(make: () => T): () => T {
  let file: string | undefined;
  let value: T | undefined;
  return () => {
    if (file !== testFile()) {
      file = testFile();
      value = make();
    }
    return value as T;
  };
}

/**
 * Runs each file as a suite, whose hooks are those of the file. `claims` is a folder where each of several processes
 * takes its next file.
 */
export async function runFiles(files: readonly string[], claims: string): Promise<void> {
  for (const file of files) {
    if (!claim(join(claims, file.replaceAll(/\W/g, '-')))) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    suite(file, { timeout: TIMEOUT_MS }, async () => {
      current = join(process.cwd(), file);
      try {
        await import(pathToFileURL(current).href);
      } catch (error) {
        resolve();
        throw error;
      }
      after(async () => {
        try {
          await endFile?.();
        } finally {
          resolve();
        }
      });
    });
    // A suite that is out of time has no hooks.
    const late = setTimeout(resolve, TIMEOUT_MS + 10_000);
    await promise;
    clearTimeout(late);
  }
}

function claim(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new Error(`${basename(folder)} cannot be taken`, { cause: error });
  }
}
