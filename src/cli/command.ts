// What the files of commands/ share: actions, examples, and options that several commands have.
import type { Command } from 'commander';

/** Makes an action of a function that takes the arguments of a command and, last, the options of the whole line. */
export const action =
  (run: (...args: never[]) => Promise<void>) =>
  (...args: unknown[]): Promise<void> => {
    const command = args.at(-1) as Command;
    return run(...([...args.slice(0, -2), command.optsWithGlobals()] as never[]));
  };

export function examples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

/** Gathers the values of an option that may be given several times. */
export const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

export const FILTER_HELP = 'field,op[,value]; repeat it for more conditions, all of which must hold';

/** Query parameters of an option that may be given several times. */
export const repeated = (name: string, values: readonly string[] = []): (readonly [string, string])[] =>
  values.map((value) => [name, value]);
