/**
 * What commands may set of a trusted issuer: where its keys come from, and the limits of its JWTs.
 */
import { type Command, Option } from 'commander'
import { DEFAULT_MAX_LIFETIME_SECONDS } from '../../domain/federation/trusted-issuer.ts'
import { ASSERTION_ALGORITHMS } from '../../domain/keys/assertion-algorithm.ts'
import { keyOptions } from './issuer-keys.ts'
import { secondsBetween } from './option-values.ts'

/** Values of the options of the limits. */
export interface LimitOptions {
  readonly algorithms?: string[]
  readonly maxLifetime?: number
}

/** Adds the options. */
export function withKeysAndLimits(command: Command): Command {
  for (const option of keyOptions()) command.addOption(option)
  return command
    .addOption(
      new Option('--algorithms <alg...>', 'the algorithms of its JWTs; a new issuer has all').choices(
        ASSERTION_ALGORITHMS,
      ),
    )
    .addOption(
      new Option(
        '--max-lifetime <seconds>',
        `the longest lifetime of its JWTs, 60 to 86400; a new issuer has ${DEFAULT_MAX_LIFETIME_SECONDS}`,
      ).argParser(secondsBetween(60, 86_400)),
    )
}

/** The longest lifetime, if it is named: for a spread into a request. */
export function lifetime(maxLifetimeSeconds: number | undefined) {
  return maxLifetimeSeconds === undefined ? {} : { maxLifetimeSeconds }
}
