/**
 * Trusted issuers for commands: all of them, and one by its name or id.
 */
import { createClient, type Transport } from '@connectrpc/connect'
import type { TrustedIssuer } from '../../../gen/iam/federation/v2/trusted_issuer_pb.js'
import { TrustedIssuerService } from '../../../gen/iam/federation/v2/trusted_issuer_service_pb.js'
import { isUuid } from '../../domain/uuid.ts'
import type { Parameter } from '../api-command.ts'
import { everyItemOf } from '../pages.ts'

/** The argument for an issuer. */
export const ISSUER = { placeholder: 'issuer', description: 'name or id', resolve: resolveIssuer } satisfies Parameter

/** All trusted issuers, by name. */
export function everyIssuer(api: Transport): Promise<TrustedIssuer[]> {
  const client = createClient(TrustedIssuerService, api)
  return everyItemOf(
    (page) => client.listTrustedIssuers(page),
    (response) => response.trustedIssuers,
  )
}

/**
 * The id of an issuer, from its exact name or id.
 *
 * @throws {Error} if no issuer has the name. An id is not checked: the call that uses it refuses an unknown one.
 */
export async function resolveIssuer(issuer: string, api: Transport): Promise<string> {
  if (isUuid(issuer.toLowerCase())) return issuer.toLowerCase()
  const found = (await everyIssuer(api)).find((each) => each.issuer === issuer)
  if (found !== undefined) return found.issuerId
  const hint = '"keyturn federation issuers list" prints those that are trusted'
  throw new Error(`there is no trusted issuer ${JSON.stringify(issuer)}: ${hint}`)
}
