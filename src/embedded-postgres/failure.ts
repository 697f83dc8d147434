// The error of a failed start of the embedded database: a message for the person at the terminal that says how to fix
// it, and no stack, because that would not help.

const failureName = 'EmbeddedDatabaseFailure';

/**
 * Builds a failure of the embedded database: what failed, the output of PostgreSQL or the system, and advice. Its
 * `stack` is only its message.
 */
export function embeddedFailure(what: string, output: string, advice: string): Error {
  const message = [what, indent(output), findAdvice(output) ?? advice].filter((part) => part !== '').join('\n');
  const failure = new Error(message);
  failure.name = failureName;
  failure.stack = message;
  return failure;
}

/** Returns `error` itself if it is such a failure, else one that names the step in which it was thrown. */
export function asFailure(error: unknown, what: string): Error {
  if (error instanceof Error && error.name === failureName) return error;
  return embeddedFailure(what, getMessage(error), '');
}

/** Returns the message of any thrown value. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const causes: readonly (readonly [RegExp, string])[] = [
  [/no space left on device|ENOSPC|disk quota|EDQUOT/i, 'The disk is full: free some space and start again.'],
  [
    /spawn (\S+ )?EPERM/,
    'Root may not become another user here: start the server as an ordinary user, or set DATABASE_URL to use another PostgreSQL.',
  ],
  [
    /read-only file ?system|EROFS/i,
    'The file system is read-only: set DATA_DIR to a folder that can be written, or DATABASE_URL to use another PostgreSQL.',
  ],
  [
    /permission denied|operation not permitted|EACCES|EPERM|wrong ownership/i,
    'The permissions do not allow it: set DATA_DIR to a folder that this user owns, or start the server as its owner.',
  ],
  [
    /could not create shared memory|cannot allocate memory|could not map anonymous shared memory|ENOMEM/i,
    'The machine has too little memory left: free some, or lower shared_buffers in postgresql.conf of the data.',
  ],
  [
    /error while loading shared libraries|cannot execute|: not found|spawn (\S+ )?ENOENT/i,
    'The PostgreSQL of the npm package does not run on this system: set DATABASE_URL to use another PostgreSQL.',
  ],
];

function findAdvice(output: string): string | undefined {
  return causes.find(([pattern]) => pattern.test(output))?.[1];
}

function indent(text: string): string {
  return text.trim().replace(/^/gm, text.trim() === '' ? '' : '  ');
}
