#!/usr/bin/env node
/**
 * The command line. Exit codes are in `exit-codes.ts`.
 *
 * Which commands there are is in `program.ts`; this is the only file that exits.
 */
import { type Command, CommanderError } from 'commander'
import { exitCodeOf, WRONG_USAGE } from './exit-codes.ts'
import { describeFailure } from './failure.ts'
import { createProgram } from './program.ts'

/** A SHA-256 thumbprint that begins with a dash. No option is as long. */
const DASHED_KEY_ID = /^-[A-Za-z0-9_-]{42}$/

const program = createProgram()

process.exitCode = await run(process.argv.slice(2))

async function run(args: readonly string[]): Promise<number> {
  for (const command of everyCommand(program)) {
    // Commands that were made on their own inherit neither.
    command.exitOverride().showHelpAfterError('Run the command with --help to see what it takes.')
  }
  try {
    await program.parseAsync(keyIdsAsOperands(args), { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its message already. Asking for help is not a mistake, forgetting a command is.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE
    process.stderr.write(`keyturn: ${describeFailure(error)}\n`)
    return exitCodeOf(error)
  }
}

/** A key id is base64url, so one in 64 begins with a dash. It goes behind `--`, or it would be taken for an option. */
function keyIdsAsOperands(args: readonly string[]): string[] {
  const dashed = args.filter((arg) => DASHED_KEY_ID.test(arg))
  if (dashed.length === 0 || args.includes('--')) return [...args]
  return [...args.filter((arg) => !DASHED_KEY_ID.test(arg)), '--', ...dashed]
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}
