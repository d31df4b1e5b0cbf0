/**
 * Waits for a fetch of the keys of an issuer, which the server makes in the background.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import type { FetchedKeys, TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import type { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'

const POLL_MILLIS = 250

/** A fetch takes 10 seconds at most, and begins within seconds. */
const MAX_POLLS = 120

/**
 * The issuer after the next fetch that ends, whatever comes of that.
 *
 * @param before What was fetched before it.
 * @throws {Error} if none ends in time.
 */
export async function untilFetched(
  client: Client<typeof TrustedIssuerService>,
  issuerId: string,
  before: FetchedKeys | undefined,
): Promise<TrustedIssuer> {
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const { trustedIssuer } = await client.getTrustedIssuer({ issuerId })
    if (trustedIssuer !== undefined && outcomeAt(trustedIssuer.fetchedKeys) > outcomeAt(before)) return trustedIssuer
    await delay(POLL_MILLIS)
  }
  throw new Error('the keys have not been fetched: the log of the server may say why')
}

/** When the last fetch that is over ended or began; 0 if there was none. */
function outcomeAt({ fetchDate, failureDate }: Partial<FetchedKeys> = {}): number {
  return Math.max(...[fetchDate, failureDate].map((date) => (date === undefined ? 0 : timestampMs(date))))
}
