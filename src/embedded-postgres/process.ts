// Child processes that must not outlive this one, and the list of the machine's processes. A guard between this process
// and the child holds the other end of a pipe. When the pipe closes, because this process closed it or died, the guard
// ends the child. A POSIX shell as guard costs 1 MB; a Node process costs 40 MB (Windows has no other choice).
import { type ChildProcessByStdio, execFile, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

interface GuardedCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** The user that it runs as, or undefined for the user of this process. */
  readonly user: User | undefined;
  /** Open file for its output. */
  readonly output: number;
  /** File for its standard input. */
  readonly input?: string;
  /** The signal that asks it to end; QUIT follows after 10 s and KILL after 15 s. */
  readonly signal: 'INT' | 'TERM';
}

export interface Guarded {
  /** Process id of the child itself, not of its guard. Rejects when it could not be started. */
  readonly pid: Promise<number>;
  /** Resolves when it has ended: exit code, or 128 + signal. Never rejects. */
  readonly exited: Promise<number>;
  /** Closes the pipe, so that the guard asks the child to end. */
  release(): void;
  /** Sets whether the running child keeps this process alive; it does by default. */
  keepAlive(enabled: boolean): void;
}

// The watcher is a process of its own, so that the child is ended even when the guard's shell was killed. The child's
// id is written after the watcher has started: if the pipe has no reader any more, the write kills the shell, not the
// watcher. The guard ignores signals that a service manager sends to every process of the service: they are for the
// server.
const posixGuard = `
signal=$1; input=$2; shift 2
exec 3<&0 </dev/null
trap '' HUP INT TERM
"$@" <"$input" 3<&- >&2 &
child=$!
(
  while read -r _ <&3; do :; done
  waited=0
  while kill -"$signal" "$child"; do
    sleep 1
    waited=$((waited + 1))
    [ $waited -lt 10 ] || signal=QUIT
    [ $waited -lt 15 ] || signal=KILL
    [ $waited -lt 20 ] || exit
  done
) >/dev/null 2>&1 &
watcher=$!
echo "$child"
wait "$child"
code=$?
kill -KILL "$watcher" 2>/dev/null
exit "$code"
`;

// Windows has no signals: pg_ctl in the same folder stops postgres.exe, and any other program is terminated.
const windowsGuard = `
const { spawn, spawnSync } = require('node:child_process');
const { openSync } = require('node:fs');
const { dirname, join } = require('node:path');
const [signal, input, file, ...args] = process.argv.slice(1);
const child = spawn(file, args, { stdio: [input === '' ? 'ignore' : openSync(input), 2, 2], windowsHide: true });
child.on('spawn', () => console.log(child.pid));
child.on('exit', (code) => process.exit(code ?? 1));
child.on('error', (error) => { console.error(error.message); process.exit(127); });
process.stdout.on('error', () => {});
process.stdin.resume().on('close', () => {
  if (signal !== 'INT') return child.kill();
  spawnSync(join(dirname(file), 'pg_ctl'), ['stop', '-m', 'fast', '-t', '15', '-D', args[args.indexOf('-D') + 1]]);
  child.kill();
});
`;

/** Starts `command` under a guard. Its environment is only the C locale and a PATH. */
export function spawnGuarded(command: GuardedCommand): Guarded {
  const windows = process.platform === 'win32';
  const script = windows ? [process.execPath, '-e', windowsGuard] : ['/bin/sh', '-c', posixGuard, 'guard'];
  const input = command.input ?? (windows ? '' : '/dev/null');
  const guard = spawn(script[0]!, [...script.slice(1), command.signal, input, command.file, ...command.args], {
    // The one directory that every user can enter, and that blocks no unmount.
    cwd: '/',
    // On Windows Node itself adds what every process there needs, PATH included.
    env: windows ? { LC_ALL: 'C' } : { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', command.output],
    // A session of its own: Ctrl-C in the terminal reaches only the server, which then stops its database in order.
    detached: true,
    windowsHide: true,
    ...(command.user === undefined ? {} : command.user),
  }) as ChildProcessByStdio<Writable, Readable, null>;
  guard.stdin.on('error', () => {});
  const exited = new Promise<number>((resolve) => {
    guard.on('error', () => resolve(127));
    guard.on('exit', (code, signal) => {
      // If the guard was killed, its watcher now ends the child.
      guard.stdin.destroy();
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
  const pid = new Promise<number>((resolve, reject) => {
    guard.on('error', reject);
    guard.stdout.on('error', reject).on('data', (data) => resolve(Number.parseInt(String(data), 10)));
    exited.then((code) => reject(new Error(`it ended at once with code ${code}`)));
  });
  pid.catch(() => {});
  return {
    pid,
    exited,
    release: () => guard.stdin.end(),
    keepAlive(enabled) {
      for (const handle of [guard, guard.stdin, guard.stdout]) {
        if (enabled) (handle as { ref?(): void }).ref?.();
        else (handle as { unref?(): void }).unref?.();
      }
    },
  };
}

/** Sends `signal`; returns false when the process is gone or not ours. Signal 0 only checks. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

interface RunningProcess {
  readonly pid: number;
  /** Command line, arguments separated by NUL (Linux) or by spaces. PostgreSQL's children replace it with a title. */
  readonly title: string;
}

/** Lists the visible processes of this machine; empty on Windows. Linux often has no `ps`, other systems no /proc. */
export async function runningProcesses(): Promise<readonly RunningProcess[]> {
  if (process.platform === 'win32') return [];
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => ({ pid: Number(name), title: readTitle(name) }));
  }
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,args='], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(.*)$/.exec(line);
    return match === null ? [] : [{ pid: Number(match[1]), title: match[2]! }];
  });
}

/** Returns whether `running` is the main process of a PostgreSQL that was started with `-D dataDirectory`. */
export function isPostmaster(running: RunningProcess, dataDirectory: string): boolean {
  const args = running.title.split('\0');
  if (args.length === 1) return /postgres /.test(running.title) && running.title.includes(` -D ${dataDirectory} `);
  return basename(args[0]!).startsWith('postgres') && args.includes(dataDirectory);
}

/**
 * Returns whether a process of `user` has this working directory, as all of PostgreSQL's have their data: the directory
 * itself, not one of the same path in another container. Only Linux shows it; on other systems no process of another
 * user has our paths.
 */
export function worksIn(pid: number, directory: string, user: User | undefined): boolean {
  if (process.platform !== 'linux') return true;
  const folder = `/proc/${pid}/cwd`;
  try {
    const [actual, expected] = [statSync(folder, { bigint: true }), statSync(directory, { bigint: true })];
    return actual.ino === expected.ino && actual.dev === expected.dev;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES' || user === undefined) return false;
    // Root of a container may not inspect the processes of others, but each user may inspect its own.
    const { stdout } = spawnSync('stat', ['-L', '-c', '%d:%i', folder, directory], { ...user, encoding: 'utf8' });
    const [actual, expected] = (stdout ?? '').trim().split('\n');
    return expected !== undefined && actual === expected;
  }
}

function readTitle(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
