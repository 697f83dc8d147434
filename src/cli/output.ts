// What a finished command says on stdout: one JSON document for scripts, or text for people. Waits until the system has
// taken it, so that a pipe gets all of it.

/** Prints the result of a command; `describe` is called for people only. */
export async function printResult(json: boolean | undefined, value: unknown, describe: () => string): Promise<void> {
  await writeOut(`${json ? JSON.stringify(value, null, 2) : describe()}\n`);
}

/** Writes text to stdout and waits until it is on its way. */
export function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
