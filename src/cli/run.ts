/**
 * Runs a command line in this process. The commands are in `program.ts`.
 */
import { type Command, CommanderError } from 'commander'
import { EndWith, FAILED, WRONG_USAGE } from './exit.ts'
import type { Failure } from './failure.ts'
import type { Io } from './io.ts'
import { formatIn, painter, printableLines, serialize } from './output.ts'
import { createProgram } from './program.ts'

const ADVICE = 'Run the command with --help to see what it takes.'

/** A SHA-256 thumbprint that begins with a dash. No option is as long. */
const DASHED_KEY_ID = /^-[A-Za-z0-9_-]{42}$/

/** Runs a command to its end, and prints on standard error why it failed. @returns The exit code, 0 after success. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const format = formatIn(argv)
  // There 2 means a difference.
  const wrongUsage = argv.includes('--detailed-exitcode') ? FAILED : WRONG_USAGE
  const program = await createProgram(io, argv)
  const red = painter(io, 'stderr', 'red')
  let complaint = ''
  for (const command of everyCommand(program)) {
    // Commands that were made on their own inherit none of these.
    command
      .exitOverride()
      .showHelpAfterError(ADVICE)
      .configureHelp({ ...command.configureHelp(), styleTitle: painter(io, 'stdout', 'bold') })
      .configureOutput({
        writeOut: (text) => io.stdout.write(text),
        writeErr: (text) => {
          complaint += text
        },
        // The painters know.
        getOutHasColors: () => true,
        getErrHasColors: () => true,
        outputError: (text, write) => write(text.replace(/^error:/, red)),
      })
  }
  const print = async (failure: Failure, text: string) => {
    // JSON takes one line, so that it is the last line of standard error also after warnings.
    io.stderr.write(format === 'table' ? text : `${await serialize({ error: { ...failure } }, format, 0)}\n`)
  }
  try {
    await program.parseAsync(keyIdsAsOperands(argv), { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof EndWith && error.message === '') return error.exitCode
    if (error instanceof CommanderError) {
      // Asking for help is not a mistake, forgetting a command is.
      if (error.exitCode === 0) return 0
      const message = error.message.replace(/^error: /, '')
      if (error.code === 'commander.help') io.stderr.write(complaint)
      else await print({ message, code: 'usage' }, complaint || `${red('error:')} ${message}\n${ADVICE}\n`)
      return wrongUsage
    }
    // Loaded here, not above: it knows the errors of all libraries.
    const { describeFailure, exitCodeOf, failureOf } = await import('./failure.ts')
    await print(failureOf(error), `${red('keyturn:')} ${printableLines(describeFailure(error))}\n`)
    const exitCode = exitCodeOf(error)
    return exitCode === WRONG_USAGE ? wrongUsage : exitCode
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
