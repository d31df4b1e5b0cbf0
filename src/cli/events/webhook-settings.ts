/**
 * The options that say what a webhook is sent, and by which authorities its receiver is known.
 */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readTextFile } from '../text-file.ts'

/** Their values. */
export interface SettingOptions {
  readonly type?: string[]
  readonly resource?: string[]
  /** A file. False: none any more. */
  readonly receiverCa?: string | false
}

/** Adds the options. */
export function withSettings(command: Command): Command {
  return command
    .option(
      '--type <types...>',
      'types of events to send; with .* at the end, all that begin so (default: all), such as keyturn.rotation.*',
    )
    .option(
      '--resource <resources...>',
      'resources about which to send events, with their parts (default: all), such as users',
    )
    .addOption(
      new Option(
        '--receiver-ca <file>',
        'certificates (PEM) that are trusted for the receiver, instead of the usual ones',
      ),
    )
}

/** The certificates that the options name; undefined if they name none. */
export async function certificatesFrom({ receiverCa }: SettingOptions): Promise<string | undefined> {
  if (receiverCa === undefined) return undefined
  return receiverCa === false ? '' : await readTextFile(receiverCa)
}

/** The URL of a receiver. @throws {InvalidArgumentError} */
export function parseReceiver(text: string): string {
  const { protocol, username, password } = URL.canParse(text) ? new URL(text) : {}
  if (protocol === 'https:' && username === '' && password === '') return text
  throw new InvalidArgumentError('It is an https URL without a user.')
}
