/**
 * `keyturn federation issuers update`: changes an issuer, and says whether its keys can be fetched.
 */

import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Command, Option } from 'commander'
import type { TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import {
  TrustedIssuerService,
  UpdateTrustedIssuerResponseSchema,
} from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { openApi } from '../api-client.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { type KeyOptions, keyIdsOf, keysFrom } from './issuer-keys.ts'
import { type LimitOptions, lifetime, withKeysAndLimits } from './issuer-limits.ts'
import { resolveIssuer } from './trusted-issuers.ts'

/** The command. */
export function updateCommand(io: Io): Command {
  return withKeysAndLimits(withRemoteOptions(new Command('update')))
    .description(
      'Change the keys, the algorithms or the longest lifetime of JWTs. What is not named stays. Keys of another source replace those ' +
        'before at once; they are fetched once to see whether they can be.',
    )
    .argument('<issuer>', 'name or id')
    .addOption(new Option('--no-issuer-ca', 'trust the usual authorities for the fetch again').conflicts('keys'))
    .action(async (issuer: string, options: RemoteOptions & KeyOptions & LimitOptions) => {
      const { algorithms, maxLifetime } = options
      const api = await openApi(io, options)
      const issuerId = await resolveIssuer(api, issuer)
      const client = createClient(TrustedIssuerService, api)
      const keys = await keysFrom(
        options,
        async () => (await client.getTrustedIssuer({ issuerId })).trustedIssuer?.keys,
      )
      const paths = [
        ...(keys === undefined ? [] : ['keys']),
        ...(algorithms === undefined ? [] : ['algorithms']),
        ...(maxLifetime === undefined ? [] : ['max_lifetime_seconds']),
      ]
      if (paths.length === 0)
        throw new Error(
          'say what to change: a source of its keys, --issuer-ca, --max-staleness, --algorithms or --max-lifetime',
        )
      const change = {
        ...(keys === undefined ? {} : { keys }),
        algorithms: algorithms ?? [],
        ...lifetime(maxLifetime),
      }
      const response = await client.updateTrustedIssuer({ issuerId, ...change, updateMask: { paths } })
      if (keys === undefined || !isNotFetched(response.trustedIssuer)) {
        print(io, options, UpdateTrustedIssuerResponseSchema, response, () => `updated ${issuer}`)
        return
      }
      const { trustedIssuer } = await client.refreshTrustedIssuerKeys({ issuerId })
      const failure = trustedIssuer?.fetchedKeys?.failure ?? ''
      if (failure !== '') throw new Error(`${issuer} is updated, and its keys could not be fetched: ${failure}`)
      const fetched = create(UpdateTrustedIssuerResponseSchema, trustedIssuer === undefined ? {} : { trustedIssuer })
      const lines = [`updated ${issuer}`, `fetched: ${trustedIssuer === undefined ? '-' : keyIdsOf(trustedIssuer)}`]
      print(io, options, UpdateTrustedIssuerResponseSchema, fetched, () => lines.join('\n'))
    })
}

/** Whether its keys come from a source from which none have been fetched. */
function isNotFetched({ fetchedKeys }: Partial<TrustedIssuer> = {}): boolean {
  return fetchedKeys !== undefined && fetchedKeys.fetchDate === undefined && fetchedKeys.failure === ''
}
