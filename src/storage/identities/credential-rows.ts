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
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { type BeforeAndNext, differenceOfParts, inChunks } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'

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
    macs.assert('credentials', { userId, credentialId, kind, content: content ?? '' }, toBytes(json.mac))
  } catch (error) {
    throw new Error(`${kind} ${credentialId}: ${messageOf(error)}`, { cause: error })
  }
  // The MAC proves that it is what `toRow` has written.
  return { kind, ...dates, ...JSON.parse(content ?? '') }
}

/** Writes the differences of all users in a few statements, and returns whether there are any. */
export async function writeCredentials(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const owned = ({ userId, credentials }: ServiceUser) => credentials.map((credential) => ({ userId, credential }))
  const { removed, added } = differenceOfParts(pairs, owned, ({ credential }) => credential.credentialId)
  if (removed.length > 0) {
    const ids = removed.map(({ credential }) => credential.credentialId)
    await trx.deleteFrom('credentials').where(sql<boolean>`credential_id = any(${ids}::uuid[])`).execute()
  }
  for (const some of inChunks(added)) {
    const rows = some.map(({ userId, credential }) => toRow(userId, credential, macs))
    await trx.insertInto('credentials').values(rows).execute()
  }
  const deactivated = pairs.flatMap(([before, next]) =>
    next.credentials.filter((each) => before?.credentials.some((other) => isDeactivation(other, each))),
  )
  for (const credential of deactivated) {
    // Nothing else changes, and a last use may be written at the same time, outside of the lock.
    const end = { deactivation_date: credential.kind === 'client_secret' ? credential.deactivatedAt : null }
    await trx.updateTable('credentials').set(end).where('credential_id', '=', credential.credentialId).execute()
  }
  return removed.length + added.length + deactivated.length > 0
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

function toRow(userId: string, credential: UserCredential, macs: PublicKeyMacs) {
  const { kind, credentialId, createdAt, expiresAt, ...facts } = credential
  const dates = { creation_date: createdAt, expiration_date: expiresAt }
  const row = { credential_id: credentialId, user_id: userId, kind, ...dates }
  if ('hash' in facts) {
    const ends = 'deactivatedAt' in facts ? facts : { deactivatedAt: null, lastUsedAt: null }
    return { ...row, hash: facts.hash, deactivation_date: ends.deactivatedAt, last_use_date: ends.lastUsedAt }
  }
  const content = JSON.stringify(facts)
  const found = 'subject' in facts ? { issuer_id: facts.issuerId, subject: facts.subject } : {}
  return { ...row, content, mac: macs.of('credentials', { userId, credentialId, kind, content }), ...found }
}

function isDeactivation(before: UserCredential, next: UserCredential): boolean {
  return (
    before.kind === 'client_secret' &&
    next.kind === 'client_secret' &&
    before.credentialId === next.credentialId &&
    before.deactivatedAt?.getTime() !== next.deactivatedAt?.getTime()
  )
}

function toBytes(hexadecimal: string | null): Uint8Array {
  return new Uint8Array(Buffer.from(hexadecimal ?? '', 'hex'))
}

function toDate(date: string | null): Date | null {
  return date === null ? null : new Date(date)
}
