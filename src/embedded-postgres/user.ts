// Chooses the user that PostgreSQL runs as when this process is root, as PostgreSQL refuses to run as root, and checks
// which files that user can reach: a project or data below `/root` are closed to it.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { embeddedFailure } from './failure.ts';
import type { User } from './process.ts';

/** Returns whether this process is root, so that PostgreSQL needs another user. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Returns `postgres` if this system has such a user, else the unprivileged default user. Throws when it has neither.
 */
export function unprivilegedUser(passwdFile = '/etc/passwd'): User {
  const lines = readFileSync(passwdFile, 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (Number(uid) > 0 && Number(gid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  throw embeddedFailure(
    'PostgreSQL does not run as root, and this system has neither a user postgres nor a user nobody to run it as.',
    '',
    'Start the server as an ordinary user, or set DATABASE_URL to use another PostgreSQL.',
  );
}

/**
 * Returns the closest directory on the way to `path`, itself included, that `user` cannot enter, or undefined if it can
 * reach it.
 */
export function findClosedDirectory(user: User, path: string): string | undefined {
  const parent = dirname(path);
  const above = parent === path ? undefined : findClosedDirectory(user, parent);
  return above ?? (isAllowed(user, path, 'enter') ? undefined : path);
}

/**
 * Returns whether the permission bits of an existing file let `user` read and execute it (or enter and list a
 * directory).
 */
export function canExecute(user: User, path: string): boolean {
  return isAllowed(user, path, 'enter') && isAllowed(user, path, 'read');
}

/** Creates a directory that every user can enter, whatever the umask. An existing one is not changed. */
export function makeOpenDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectories(path);
  chmodSync(path, 0o755);
}

/**
 * Creates a directory and its parents; returns true when it was missing. Node's own `recursive` never ends where a file
 * system answers ENOENT for a directory whose parent exists, as below /proc.
 */
export function makeDirectories(path: string): boolean {
  if (existsSync(path)) return false;
  const parent = dirname(path);
  if (parent !== path) makeDirectories(parent);
  mkdirSync(path);
  return true;
}

// Access lists beyond the permission bits are not read: PostgreSQL's own message names the files that they close.
function isAllowed(user: User, path: string, what: 'enter' | 'read'): boolean {
  const { mode, uid, gid } = statSync(path);
  const bit = what === 'enter' ? 1 : 4;
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & bit) !== 0;
}
