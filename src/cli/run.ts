// Runs one command line and returns its exit code. Prints every failure, as text or as JSON.
import { type Command, CommanderError } from 'commander';
import { type CommandFailure, describeFailure, exitCode, failureDocument, toFailure, usageFailure } from './failure.ts';
import { type Io, processIo } from './io.ts';
import { makeProgram } from './program.ts';

/** Runs a command. Exit codes: 0 done, 1 rejected by the server or failed, 2 wrong usage, 3 server not reachable, 4 drift. */
export async function runWda(args: readonly string[], io: Io = processIo()): Promise<number> {
  // The server logs its own failures, with their stacks.
  if (args[0] === 'serve' && args.length === 1) {
    await (await import('./serve.ts')).serve();
    return 0;
  }
  const program = await makeProgram(io, args[0]);
  if (args.length === 0) {
    program.outputHelp();
    return 0;
  }
  // A reader such as `head` closes the pipe early: the next write ends the command without a crash.
  io.stdout.on('error', () => {});
  try {
    if (args[0] === 'completion' || args[0] === 'complete') {
      await (await import('./completion.ts')).completion(args, io);
      return 0;
    }
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException | null)?.code === 'EPIPE') return 0;
    if (!(error instanceof CommanderError)) return report(toFailure(error), args, io);
    // commander has already printed the help of a command group without a command.
    if (error.exitCode === 0 || error.code === 'commander.help') return error.exitCode === 0 ? 0 : 2;
    return report(parseFailure(error, program, args), args, io);
  }
}

function parseFailure({ message }: CommanderError, program: Command, args: readonly string[]): CommandFailure {
  const names = args.filter((word) => /^[a-z]+$/.test(word)).slice(0, 2);
  const text = message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
  return usageFailure(text, [`See wda ${[...findCommandNames(program, names), '--help'].join(' ')}`]);
}

function report(failure: CommandFailure, args: readonly string[], io: Io): number {
  const text = args.includes('--json') ? JSON.stringify(failureDocument(failure), null, 2) : describeFailure(failure);
  io.stderr.write(`${text}\n`);
  return exitCode(failure.failure);
}

/** Returns the leading words that name a command, for the hint at its help. */
function findCommandNames(program: Command, names: readonly string[]): readonly string[] {
  const group = program.commands.find(
    (command) => command.name() === names[0] || command.aliases().includes(names[0] ?? ''),
  );
  if (group === undefined) return [];
  const own = group.commands.find((command) => command.name() === names[1]);
  return own === undefined ? [group.name()] : [group.name(), own.name()];
}
