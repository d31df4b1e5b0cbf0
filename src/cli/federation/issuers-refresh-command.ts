/**
 * `keyturn federation issuers refresh`: has the keys of an issuer fetched, and waits for what comes of it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { Command } from 'commander'
import type { FetchedKeys, TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import {
  GetTrustedIssuerResponseSchema,
  TrustedIssuerService,
} from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { openApi } from '../api-client.ts'
import type { Io } from '../io.ts'
import { type RemoteOptions, withRemoteOptions } from '../options.ts'
import { print } from '../print.ts'
import { createClient } from '../unary-client.ts'
import { keyIdsOf } from './issuer-keys.ts'
import { resolveIssuer } from './trusted-issuers.ts'

const POLL_MILLIS = 250

/** A fetch takes 10 seconds at most, and begins within seconds. */
const MAX_POLLS = 120

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
      const trustedIssuer = await untilFetched(before?.fetchedKeys, async () => {
        return (await client.getTrustedIssuer({ issuerId })).trustedIssuer
      })
      const failure = trustedIssuer.fetchedKeys?.failure ?? ''
      if (failure !== '') throw new Error(`the keys could not be fetched: ${failure}`)
      const response = create(GetTrustedIssuerResponseSchema, { trustedIssuer })
      print(io, options, GetTrustedIssuerResponseSchema, response, () => `fetched: ${keyIdsOf(trustedIssuer)}`)
    })
}

async function untilFetched(
  before: FetchedKeys | undefined,
  read: () => Promise<TrustedIssuer | undefined>,
): Promise<TrustedIssuer> {
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const issuer = await read()
    if (issuer !== undefined && outcomeAt(issuer.fetchedKeys) > outcomeAt(before)) return issuer
    await delay(POLL_MILLIS)
  }
  throw new Error('the keys have not been fetched: the log of the server may say why')
}

/** When the last fetch that is over ended or began; 0 if there was none. */
function outcomeAt({ fetchDate, failureDate }: Partial<FetchedKeys> = {}): number {
  return Math.max(...[fetchDate, failureDate].map((date) => (date === undefined ? 0 : timestampMs(date))))
}
