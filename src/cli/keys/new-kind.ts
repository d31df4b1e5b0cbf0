/**
 * Asks for confirmation before the first key of a kind is created: verifiers may not support the kind.
 */
import { createInterface } from 'node:readline/promises'
import type { Client } from '@connectrpc/connect'
import { Option } from 'commander'
import type { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import type { KeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import { kindWarnings } from '../../domain/keys/kind-warnings.ts'
import type { Io } from '../io.ts'

/** The value of the option. */
export interface YesOption {
  readonly yes?: true
}

/** The option that confirms in advance. */
export function yesOption(): Option {
  return new Option('--yes', 'do not ask before the first key of a kind')
}

/** The change to confirm. */
export interface NewKind extends YesOption {
  readonly algorithm: KeyAlgorithm
  /** For example `Create it?`. */
  readonly question: string
}

/**
 * Warns on standard error, and asks at a terminal, if there is no key of the kind yet.
 *
 * @returns The warnings that were printed.
 * @throws {Error} if the answer is not yes.
 */
export async function confirmNewKind(
  io: Io,
  client: Client<typeof WebKeyService>,
  { algorithm, question, yes }: NewKind,
): Promise<readonly string[]> {
  if (yes === true || !io.isTerminal) return []
  const warnings = kindWarnings(algorithm, (await client.listWebKeys({})).webKeys)
  if (warnings.length === 0) return []
  printWarnings(io, warnings)
  if (!(await isConfirmed(io, question))) throw new Error('nothing was changed')
  return warnings
}

/** Prints warnings on standard error, one a line. */
export function printWarnings(io: Io, warnings: readonly string[]): void {
  for (const warning of warnings) io.stderr.write(`warning: ${warning}\n`)
}

/** The end of the input, and Ctrl-C, mean no. */
async function isConfirmed({ stdin, stderr }: Io, question: string): Promise<boolean> {
  if (stdin === undefined) return false
  const terminal = createInterface({ input: stdin, output: stderr })
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended])
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}
