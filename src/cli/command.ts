// Shares actions, examples and options between the files of commands/.
import type { Command } from 'commander';

/** Wraps a function of a command's arguments and, last, the options of the whole line as an action. */
export const action =
  (run: (...args: never[]) => Promise<void>) =>
  (...args: unknown[]): Promise<void> => {
    const command = args.at(-1) as Command;
    return run(...([...args.slice(0, -2), command.optsWithGlobals()] as never[]));
  };

export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Collects the values of a repeatable option. */
export const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

export const FILTER_HELP = 'field,op[,value]; repeat it for more conditions, all of which must hold';

/** Returns the query parameters of a repeatable option. */
export const repeated = (name: string, values: readonly string[] = []): (readonly [string, string])[] =>
  values.map((value) => [name, value]);
