/**
 * Credentials of service users as rows of one table, in both directions.
 *
 * They are read as JSON together with their user (`service-user-row.ts`). JSON has neither bytes nor dates: bytes are hexadecimal, dates
 * are text. What the domain has of a kind besides dates is JSON in `content`, which the MAC covers; secrets and tokens have a hash instead.
 */
import { type ExpressionBuilder, type RawBuilder, sql, type Transaction } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import { messageOf } from '../../domain/errors.ts'
import type { UserCredential } from '../../domain/identities/credential.ts'
import type { FederatedSubject } from '../../domain/identities/federated-identity.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { Tables } from '../schema/tables.ts'
import { bytea } from '../schema/write-rows.ts'

type CredentialJson = ReturnType<typeof credentialsJson> extends RawBuilder<(infer Row)[]> ? Row : never

/** Those of the service user `u` of a query. */
export function credentialsJson(eb: ExpressionBuilder<Tables & { u: Tables['service_users'] }, 'u'>) {
  return jsonArrayFrom(
    eb
      .selectFrom('credentials as c')
      .whereRef('c.user_id', '=', 'u.user_id')
      .select(['c.credential_id', 'c.kind', 'c.content', sql<string | null>`encode(c.mac, 'hex')`.as('mac')])
      .select([sql<string | null>`encode(c.hash, 'hex')`.as('hash'), 'c.creation_date', 'c.expiration_date'])
      .select(['c.deactivation_date', 'c.last_use_date'])
      .orderBy('c.creation_date')
      .orderBy('c.credential_id'),
  )
}

/** @throws {Error} if its MAC is wrong. */
export function toCredential(userId: string, json: CredentialJson, macs: PublicKeyMacs): UserCredential {
  const { credential_id: credentialId, content } = json
  const kind = json.kind as UserCredential['kind']
  const dates = { credentialId, createdAt: new Date(json.creation_date), expiresAt: toDate(json.expiration_date) }
  if (kind === 'client_secret') {
    const { deactivation_date, last_use_date } = json
    const ends = { deactivatedAt: toDate(deactivation_date), lastUsedAt: toDate(last_use_date) }
    return { kind, ...dates, hash: toBytes(json.hash), ...ends }
  }
  if (kind === 'personal_access_token') {
    return { kind, ...dates, expiresAt: dates.expiresAt ?? new Date(0), hash: toBytes(json.hash) }
  }
  try {
    macs.assert('credentials', [userId, credentialId, kind, content ?? ''], toBytes(json.mac))
  } catch (error) {
    throw new Error(`${kind} ${credentialId}: ${messageOf(error)}`, { cause: error })
  }
  // The MAC proves that it is what `toCredentialRow` has written.
  return { kind, ...dates, ...JSON.parse(content ?? '') }
}

/** The ids of the users who have an identity with this subject, two at most: more than one names no user. */
export async function readFederatedUserIds(
  trx: Transaction<Tables>,
  { issuerId, subject }: FederatedSubject,
): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom('credentials')
    .select('user_id')
    .distinct()
    .where('issuer_id', '=', issuerId)
    .where('subject', '=', subject)
    .limit(2)
    .execute()
  return rows.map(({ user_id }) => user_id)
}

/** All but its last use, which is written outside of the lock. */
export function toCredentialRow(userId: string, credential: UserCredential, macs: PublicKeyMacs) {
  const { kind, credentialId, createdAt, expiresAt, ...facts } = credential
  const content = 'hash' in facts ? null : JSON.stringify(facts)
  return {
    credential_id: credentialId,
    user_id: userId,
    kind,
    creation_date: createdAt,
    expiration_date: expiresAt,
    hash: 'hash' in facts ? bytea(facts.hash) : null,
    deactivation_date: 'deactivatedAt' in facts ? facts.deactivatedAt : null,
    content,
    mac: content === null ? null : bytea(macs.of('credentials', [userId, credentialId, kind, content])),
    issuer_id: 'subject' in facts ? facts.issuerId : null,
    subject: 'subject' in facts ? facts.subject : null,
  }
}

function toBytes(hexadecimal: string | null): Uint8Array {
  return new Uint8Array(Buffer.from(hexadecimal ?? '', 'hex'))
}

function toDate(date: string | null): Date | null {
  return date === null ? null : new Date(date)
}
