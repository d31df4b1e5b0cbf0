/**
 * The options that "keyturn plan" and "keyturn apply" share, and the configuration in the files that they name.
 */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type FileConfiguration, parseConfiguration } from '../../configuration-files/configuration.ts'
import { readSourceFiles } from '../../configuration-files/source-files.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { printWarnings } from '../output.ts'

/** The values of the options. */
export interface FileOptions extends RemoteOptions {
  readonly file?: readonly string[]
  readonly label: string
  readonly prune?: true
  readonly takeOver?: true
}

/** Adds the options to a command. */
export function withFileOptions(command: Command): Command {
  return withRemoteOptions(
    command
      .addOption(
        new Option(
          '-f, --file <file>',
          'a file (YAML or JSON), a folder with such files, or - for standard input; may be given several times',
        ).argParser((path: string, others: readonly string[] | undefined) => [...(others ?? []), path]),
      )
      .addOption(
        labelOption('what belongs to these files: a name for all that they make or take over').default('default'),
      )
      .option('--prune', 'delete what has the label and is not in the files')
      .option('--take-over', 'take over what has another label'),
  )
}

/** The option that names a label. */
export function labelOption(description: string): Option {
  return new Option('--label <label>', description).argParser((text) => {
    if (/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) return text
    throw new InvalidArgumentError('It has 1 to 63 of a-z, 0-9 and -, and does not start with -.')
  })
}

/**
 * The configuration. Warns of a file without a document: with `--prune`, what a file had that was emptied by mistake is deleted.
 *
 * @throws {ConfigurationMistakes} before anything is sent.
 */
export async function readConfiguration(io: Io, command: Command, { file }: FileOptions): Promise<FileConfiguration> {
  if (file === undefined) return command.error("error: required option '-f, --file <file>' not specified")
  const read = parseConfiguration(await readSourceFiles(file, file.includes('-') ? io.stdin : undefined))
  printWarnings(
    io,
    read.emptyFiles.map((name) => `there is no document in ${name}`),
  )
  return read
}
