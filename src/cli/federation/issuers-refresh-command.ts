/**
 * `keyturn federation issuers refresh`: has the keys of an issuer fetched, and waits for what comes of it.
 */

import { create } from '@bufbuild/protobuf'
import { createClient } from '@connectrpc/connect'
import { Command } from 'commander'
import {
  GetTrustedIssuerResponseSchema,
  TrustedIssuerService,
} from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { openApi } from '../api-client.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { keyIdsOf } from './issuer-keys.ts'
import { untilFetched } from './key-fetch.ts'
import { resolveIssuer } from './trusted-issuers.ts'

/** The command. */
export function refreshCommand(io: Io): Command {
  return withRemoteOptions(new Command('refresh'))
    .description('Fetch the keys of an issuer now, and say what came of it.')
    .argument('<issuer>', 'name or id')
    .action(async (name: string, options: RemoteOptions) => {
      const api = await openApi(io, options)
      const issuerId = await resolveIssuer(api, name)
      const client = createClient(TrustedIssuerService, api)
      const { trustedIssuer: before } = await client.refreshTrustedIssuerKeys({ issuerId })
      const trustedIssuer = await untilFetched(client, issuerId, before?.fetchedKeys)
      const failure = trustedIssuer.fetchedKeys?.failure ?? ''
      if (failure !== '') throw new Error(`the keys could not be fetched: ${failure}`)
      const response = create(GetTrustedIssuerResponseSchema, { trustedIssuer })
      print(io, options, GetTrustedIssuerResponseSchema, response, () => `fetched: ${keyIdsOf(trustedIssuer)}`)
    })
}
