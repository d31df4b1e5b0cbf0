/**
 * Federated identities of a service user as rows, in both directions. They are read as JSON together with their user
 * (`service-user-row.ts`).
 */
import { sql, type Transaction } from 'kysely'
import type { FederatedIdentity, FederatedSubject, RequiredClaim } from '../../domain/federation/federated-identity.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { stringMember } from '../keys/public-jwk.ts'
import { inChunks } from '../schema/chunks.ts'
import { type BeforeAndNext, differenceOfParts } from '../schema/difference.ts'
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
    macs.assert('federatedIdentities', { ...facts, userId }, new Uint8Array(Buffer.from(json.mac, 'hex')))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`federated identity ${identityId}: ${reason}`, { cause: error })
  }
  return { ...facts, createdAt: new Date(json.creation_date) }
}

/** The ids of the users who have an identity with this subject, two at most: more than one names no user. */
export async function readFederatedUserIds(
  trx: Transaction<Tables>,
  { issuerId, subject }: FederatedSubject,
): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom('federated_identities')
    .select('user_id')
    .distinct()
    .where('issuer_id', '=', issuerId)
    .where('subject', '=', subject)
    .limit(2)
    .execute()
  return rows.map(({ user_id }) => user_id)
}

/** Writes the differences, and returns whether there are any. An identity never changes. */
export async function writeFederatedIdentities(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const owned = ({ userId, federatedIdentities }: ServiceUser) => federatedIdentities.map((part) => ({ userId, part }))
  const { removed, added } = differenceOfParts(pairs, owned, ({ part }) => JSON.stringify(part))
  if (removed.length > 0) {
    const ids = removed.map(({ part }) => part.identityId)
    await trx.deleteFrom('federated_identities').where(sql<boolean>`identity_id = any(${ids}::uuid[])`).execute()
  }
  for (const some of inChunks(added)) {
    const rows = some.map(({ userId, part }) => ({
      identity_id: part.identityId,
      user_id: userId,
      issuer_id: part.issuerId,
      subject: part.subject,
      audience: part.audience,
      claims: JSON.stringify(part.claims),
      creation_date: part.createdAt,
      mac: macs.of('federatedIdentities', { ...part, userId }),
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
