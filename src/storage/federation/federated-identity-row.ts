/**
 * Federated identities of a service user as rows, in both directions. They are read as JSON together with their user
 * (`service-user-row.ts`).
 */
import { sql, type Transaction } from 'kysely'
import type { FederatedIdentity, FederatedSubject, RequiredClaim } from '../../domain/federation/federated-identity.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { difference } from '../identities/difference.ts'
import { stringMember } from '../keys/public-jwk.ts'
import type { Tables } from '../schema/tables.ts'

interface FederatedIdentityJson {
  readonly identity_id: string
  readonly issuer_id: string
  readonly subject: string
  readonly audience: string | null
  readonly claims: unknown
  readonly creation_date: Date | string
  /** Hexadecimal. */
  readonly mac: string
}

/** @throws {Error} if its MAC is wrong. */
export function toFederatedIdentity(
  userId: string,
  json: FederatedIdentityJson,
  macs: PublicKeyMacs,
): FederatedIdentity {
  const { identity_id: identityId, issuer_id: issuerId, subject, audience } = json
  const facts = { identityId, issuerId, subject, audience, claims: toClaims(json.claims) }
  try {
    macs.assertFederatedIdentity(userId, facts, new Uint8Array(Buffer.from(json.mac, 'hex')))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`federated identity ${identityId}: ${reason}`, { cause: error })
  }
  return { ...facts, createdAt: new Date(json.creation_date) }
}

/** The ids of the users who have an identity with each of the subjects, two at most: more than one names no user. */
export async function readFederatedUserIds(
  trx: Transaction<Tables>,
  subjects: readonly FederatedSubject[],
): Promise<string[][]> {
  const issuerIds = subjects.map(({ issuerId }) => issuerId)
  const names = subjects.map(({ subject }) => subject)
  const { rows } = await sql<{ user_ids: string[] }>`
    select array(
      select distinct user_id from federated_identities
      where issuer_id = asked.issuer_id and subject = asked.subject
      limit 2
    )::text[] as user_ids
    from unnest(${issuerIds}::uuid[], ${names}::text[]) with ordinality as asked (issuer_id, subject, position)
    order by asked.position`.execute(trx)
  return rows.map(({ user_ids }) => user_ids)
}

/** Writes the difference, and returns whether there is one. An identity never changes. */
export async function writeFederatedIdentities(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: readonly FederatedIdentity[], next: readonly FederatedIdentity[]],
  { userId, macs }: { readonly userId: string; readonly macs: PublicKeyMacs },
): Promise<boolean> {
  const { removed, added } = difference(before, next, (identity) => JSON.stringify(identity))
  if (removed.length > 0) {
    const ids = removed.map(({ identityId }) => identityId)
    await trx.deleteFrom('federated_identities').where(sql<boolean>`identity_id = any(${ids}::uuid[])`).execute()
  }
  if (added.length > 0) {
    const rows = added.map((identity) => ({
      identity_id: identity.identityId,
      user_id: userId,
      issuer_id: identity.issuerId,
      subject: identity.subject,
      audience: identity.audience,
      claims: JSON.stringify(identity.claims),
      creation_date: identity.createdAt,
      mac: macs.ofFederatedIdentity(userId, identity),
    }))
    await trx.insertInto('federated_identities').values(rows).execute()
  }
  return removed.length + added.length > 0
}

function toClaims(json: unknown): readonly RequiredClaim[] {
  if (!Array.isArray(json)) throw new Error('claims is no list')
  return json.map((claim) => {
    const [pointer, value] = [stringMember(claim, 'pointer'), stringMember(claim, 'value')]
    if (pointer === undefined || value === undefined) throw new Error('a claim has no pointer or no value')
    return { pointer, value }
  })
}
