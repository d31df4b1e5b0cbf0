/**
 * Warns before the first key of a kind is made, and asks at a terminal: it is the one step of a rotation that can stop verifiers.
 */
import { createInterface } from 'node:readline/promises'
import type { Client } from '@connectrpc/connect'
import { Option } from 'commander'
import type { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import type { KeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import { kindWarnings } from '../../domain/keys/kind-warnings.ts'

/** The value of the option. */
export interface YesOption {
  readonly yes?: true
}

/** The option that answers the question. */
export function yesOption(): Option {
  return new Option('--yes', 'do not ask before the first key of a kind')
}

/** What is about to be done. */
export interface NewKind extends YesOption {
  readonly algorithm: KeyAlgorithm
  /** For example `Create it?`. */
  readonly question: string
}

/**
 * Warns on standard error, and asks, if there is somebody at a terminal and no key of the kind yet.
 *
 * @returns The warnings that were printed.
 * @throws {Error} if the answer is not yes.
 */
export async function confirmNewKind(
  client: Client<typeof WebKeyService>,
  { algorithm, question, yes }: NewKind,
): Promise<readonly string[]> {
  if (yes === true || !process.stdin.isTTY || !process.stderr.isTTY) return []
  const warnings = kindWarnings(algorithm, (await client.listWebKeys({})).webKeys)
  if (warnings.length === 0) return []
  printWarnings(warnings)
  if (!(await isConfirmed(question))) throw new Error('nothing was changed')
  return warnings
}

/** Prints warnings on standard error, one a line. */
export function printWarnings(warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
}

/** No answer, as when the input ends, is no. */
async function isConfirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended])
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}
