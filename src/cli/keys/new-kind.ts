/**
 * Asks for confirmation before the first key of an algorithm is created: verifiers may not support it.
 */
import type { Client } from '@connectrpc/connect'
import type { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { algorithmWarnings } from '../../domain/keys/algorithm-warnings.ts'
import type { KeyAlgorithm } from '../../domain/keys/key-algorithm.ts'
import { confirm, type YesOption } from '../confirm.ts'
import type { Io } from '../io.ts'
import { printWarnings } from '../output.ts'

/** What `--yes` means where it is about a new kind. */
export const NEW_KIND_YES = 'do not ask before the first key of an algorithm'

/** The change to confirm. */
export interface NewKind extends YesOption {
  readonly algorithm: KeyAlgorithm
  /** For example `Create it?`. */
  readonly question: string
}

/**
 * Warns on standard error, and asks at a terminal, if there is no key of the algorithm yet.
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
  const warnings = algorithmWarnings(algorithm, (await client.listWebKeys({})).webKeys)
  if (warnings.length === 0) return []
  printWarnings(io, warnings)
  await confirm(io, {}, question)
  return warnings
}
