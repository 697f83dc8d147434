// The workers of a server process, as Linux sees them.
import { readFileSync } from 'node:fs';

/** Process ids of the children of a process that run the same program. */
export function workersOf(pid: number): number[] {
  return childrenOf(pid).filter(isServer);
}

/** Process ids of the children of a process. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

function isServer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts');
  } catch {
    return false;
  }
}
