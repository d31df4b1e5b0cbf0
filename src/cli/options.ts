/**
 * Options of commands: with the types of their values, and those that several commands have.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { parseBaseUrl } from '../config/base-url.ts'
import type { ConnectionOptions } from './connection/target.ts'
import { type OutputOptions, withOutputOptions } from './output.ts'
import { parseDuration, parseMoment } from './times.ts'

/** An option of commander, and the type of what it has when the command line is parsed. */
export class TypedOption<Value> extends Option {
  declare readonly value?: Value
}

export type Chosen<Options extends Readonly<Record<string, TypedOption<unknown>>>> = {
  readonly [Key in keyof Options]: Options[Key] extends TypedOption<infer Value> ? Value : never
}

/** An option with a value, which is text and may be left out unless the caller says otherwise. */
export function option(flags: string, description: string): TypedOption<string | undefined>
export function option<Value>(flags: string, description: string): TypedOption<Value>
export function option(flags: string, description: string): TypedOption<unknown> {
  return new TypedOption(flags, description)
}

/** An option with one of these values, which may be left out. */
export function choice<const Value extends string>(
  flags: string,
  description: string,
  values: readonly Value[],
): TypedOption<Value | undefined> {
  return option<Value | undefined>(flags, description).choices(values)
}

export function flag(name: string, description: string): TypedOption<true | undefined> {
  return new TypedOption(name, description)
}

/** The option `--expires` of commands that make a credential. */
export function expiresOption(): TypedOption<Timestamp | undefined> {
  return option<Timestamp | undefined>(
    '--expires <when>',
    'when it stops working: in 90d, 12h or 30m, or at a time such as 2027-01-31T00:00:00Z',
  ).argParser((text) => parseMoment(text, 1))
}

/** The field of a request that `expiresOption` sets. */
export function expirationFrom({ expires }: { readonly expires: Timestamp | undefined }) {
  return expires === undefined ? {} : { expirationDate: expires }
}

/** An option that takes a time in the past, in which `24h` means 24 hours ago. */
export function sinceOption(name: string, description: string): TypedOption<Timestamp | undefined> {
  return option<Timestamp | undefined>(`${name} <when>`, description).argParser((text) => parseMoment(text, -1))
}

/** An option that takes a length of time; its value is in seconds. */
export function durationOption(name: string, description: string): TypedOption<bigint | undefined> {
  return option<bigint | undefined>(`${name} <time>`, `${description}: for example 90d, 12h, 30m or 10s`).argParser(
    parseDuration,
  )
}

/** Options of which a command takes one. */
export function alternatives<Options extends Readonly<Record<string, TypedOption<unknown>>>>(
  options: Options,
): Options {
  for (const [name, each] of Object.entries(options))
    each.conflicts(Object.keys(options).filter((other) => other !== name))
  return options
}

/** Thrown by a command that is called wrongly. */
export class UsageError extends CommanderError {
  constructor(message: string) {
    super(2, 'keyturn.usage', `error: ${message}`)
  }
}

export interface YesOption {
  readonly yes?: true | undefined
}

/** The option that confirms in advance. */
export function yesOption(description = 'do not ask for confirmation at a terminal'): TypedOption<true | undefined> {
  return flag('--yes', description)
}

export interface RemoteOptions extends ConnectionOptions, OutputOptions {}

export function withRemoteOptions(command: Command): Command {
  return withOutputOptions(withConnectionOptions(command))
}

/** Adds the options that say which server to call, and as whom. */
export function withConnectionOptions(command: Command): Command {
  command
    .addOption(
      new Option(
        '--credentials <file>',
        'credentials file (default: KEYTURN_CREDENTIALS, the context in use, or admin.json in the data directory)',
      ).conflicts('context'),
    )
    .option('--context <name>', 'context of "keyturn login" (default: KEYTURN_CONTEXT, or the one in use)')
  return withTlsOptions(command)
}

export function withTlsOptions(command: Command): Command {
  return withClientCertificate(
    command.option('--ca <file>', 'certificates (PEM) of the authorities to trust (KEYTURN_CA_FILE)'),
  )
}

export function withClientCertificate(command: Command): Command {
  return command
    .option('--client-cert <file>', 'client certificate (PEM), for mutual TLS (KEYTURN_CLIENT_CERT_FILE)')
    .option('--client-key <file>', 'private key (PEM) of the client certificate (KEYTURN_CLIENT_KEY_FILE)')
}

/** A parser of a whole number in a range. It throws {InvalidArgumentError}. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`Write a whole number, ${least} to ${most}.`)
  }
}

/** The base URL of a server. @throws {InvalidArgumentError} */
export function parseUrl(text: string): string {
  return parseBaseUrl(text, (problem) => {
    throw new InvalidArgumentError(`It ${problem}.`)
  })
}

/** @throws {InvalidArgumentError} */
export function parseHttpsUrl(text: string): string {
  const { protocol, username, password } = URL.canParse(text) ? new URL(text) : {}
  if (protocol === 'https:' && username === '' && password === '') return text
  throw new InvalidArgumentError('It is an https URL without a user.')
}

/** The names of an enum of the API, without the value that is not specified. */
export function enumNames(values: Readonly<Record<string, string | number>>): string[] {
  return Object.keys(values).filter((name) => Number(values[name]) > 0)
}
