/**
 * Runs a command line in this process. The commands are in `program.ts`.
 */
import { type Command, CommanderError } from 'commander'
import { WRONG_USAGE } from './exit-codes.ts'
import type { Io } from './io.ts'
import { createProgram } from './program.ts'

/** A SHA-256 thumbprint that begins with a dash. No option is as long. */
const DASHED_KEY_ID = /^-[A-Za-z0-9_-]{42}$/

/** Runs a command to its end, and prints on standard error why it failed. @returns The exit code, 0 after success. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const program = await createProgram(io, argv)
  for (const command of everyCommand(program)) {
    // Commands that were made on their own inherit none of these.
    command
      .exitOverride()
      .showHelpAfterError('Run the command with --help to see what it takes.')
      .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
  }
  try {
    await program.parseAsync(keyIdsAsOperands(argv), { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its message already. Asking for help is not a mistake, forgetting a command is.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE
    // Loaded here, not above: it knows the errors of all libraries.
    const { describeFailure, exitCodeOf } = await import('./failure.ts')
    io.stderr.write(`keyturn: ${describeFailure(error)}\n`)
    return exitCodeOf(error)
  }
}

/** A key id is base64url, so one in 64 begins with a dash. It goes behind `--`, or it would be taken for an option. */
function keyIdsAsOperands(argv: readonly string[]): string[] {
  const dashed = argv.filter((arg) => DASHED_KEY_ID.test(arg))
  if (dashed.length === 0 || argv.includes('--')) return [...argv]
  return [...argv.filter((arg) => !DASHED_KEY_ID.test(arg)), '--', ...dashed]
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}
