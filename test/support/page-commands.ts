// Runs what pages show: the commands of their `sh` blocks by bash, in the folder of the clone or another one.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Returns the `sh` blocks of a page of the project, in its order. */
export const readCommands = (page: string): readonly string[] =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

/** Runs commands until one fails, in which case it throws. Returns what they print on stdout and stderr. */
export async function runCommands(
  commands: string,
  env: Readonly<Record<string, string>>,
  folder = ROOT,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  // Node.js of the tests, and `wda` of the clone.
  const path = [join(ROOT, 'bin'), dirname(process.execPath), process.env.PATH ?? ''].join(':');
  return run('bash', ['--norc', '-euo', 'pipefail', '-c', commands], {
    cwd: folder,
    env: { HOME: process.env.HOME ?? '', NO_COLOR: '1', ...env, PATH: path },
  });
}
