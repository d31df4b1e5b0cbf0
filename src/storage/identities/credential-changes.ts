/**
 * Writes the difference between the credentials of a service user before and after a change.
 */
import { sql, type Transaction } from 'kysely'
import type { ClientSecret, PersonalAccessToken, UserKey } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { writeFederatedIdentities } from '../federation/federated-identity-row.ts'
import type { Tables } from '../schema/tables.ts'
import { writeClientCertificates } from './client-certificate-row.ts'
import { toClientSecretRow, toPersonalAccessTokenRow, toUserKeyRow } from './credential-row.ts'
import { difference } from './difference.ts'

/** Writes the difference, and returns whether there is one. */
export async function writeCredentials(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: ServiceUser | undefined, next: ServiceUser],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const { userId } = next
  const changes = [
    await writeSecrets(trx, userId, [before?.secrets ?? [], next.secrets]),
    await writeKeys(trx, [before?.keys ?? [], next.keys], (key) => toUserKeyRow(userId, key, macs)),
    await writeTokens(trx, userId, [before?.personalAccessTokens ?? [], next.personalAccessTokens]),
    await writeFederatedIdentities(trx, [before?.federatedIdentities ?? [], next.federatedIdentities], {
      userId,
      macs,
    }),
    await writeClientCertificates(trx, [before?.certificates ?? [], next.certificates], { userId, macs }),
  ]
  return changes.includes(true)
}

type BeforeAndNext<T> = readonly [before: readonly T[], next: readonly T[]]

async function writeSecrets(
  trx: Transaction<Tables>,
  userId: string,
  [before, next]: BeforeAndNext<ClientSecret>,
): Promise<boolean> {
  const { removed, added } = difference(before, next, identifySecret)
  if (removed.length > 0) {
    const ids = removed.map(({ secretId }) => secretId)
    await trx.deleteFrom('client_secrets').where(sql<boolean>`secret_id = any(${ids}::uuid[])`).execute()
  }
  if (added.length > 0) {
    await trx
      .insertInto('client_secrets')
      .values(added.map((secret) => toClientSecretRow(userId, secret)))
      .execute()
  }
  const ended = difference(before, next, identifyEndOfSecret).added.filter((secret) => !added.includes(secret))
  for (const { secretId, expiresAt, deactivatedAt } of ended) {
    // Only these columns: a last use may be written at the same time, outside of the lock.
    const end = { expiration_date: expiresAt, deactivation_date: deactivatedAt }
    await trx.updateTable('client_secrets').set(end).where('secret_id', '=', secretId).execute()
  }
  return removed.length + added.length + ended.length > 0
}

async function writeKeys(
  trx: Transaction<Tables>,
  [before, next]: BeforeAndNext<UserKey>,
  toRow: (key: UserKey) => ReturnType<typeof toUserKeyRow>,
): Promise<boolean> {
  const { removed, added } = difference(before, next, (key) => JSON.stringify(key))
  if (removed.length > 0) {
    const ids = removed.map(({ keyId }) => keyId)
    await trx.deleteFrom('user_keys').where(sql<boolean>`key_id = any(${ids}::uuid[])`).execute()
  }
  if (added.length > 0) {
    await trx.insertInto('user_keys').values(added.map(toRow)).execute()
  }
  return removed.length + added.length > 0
}

async function writeTokens(
  trx: Transaction<Tables>,
  userId: string,
  [before, next]: BeforeAndNext<PersonalAccessToken>,
): Promise<boolean> {
  const { removed, added } = difference(before, next, identifyToken)
  if (removed.length > 0) {
    const ids = removed.map(({ tokenId }) => tokenId)
    await trx.deleteFrom('personal_access_tokens').where(sql<boolean>`token_id = any(${ids}::uuid[])`).execute()
  }
  if (added.length > 0) {
    await trx
      .insertInto('personal_access_tokens')
      .values(added.map((token) => toPersonalAccessTokenRow(userId, token)))
      .execute()
  }
  return removed.length + added.length > 0
}

/** The immutable columns of a secret. */
function identifySecret({ secretId, hash, createdAt }: ClientSecret): string {
  return JSON.stringify([secretId, [...hash], createdAt])
}

/** The columns that an administrator can change. `credential-uses.ts` writes the last use. */
function identifyEndOfSecret({ secretId, expiresAt, deactivatedAt }: ClientSecret): string {
  return JSON.stringify([secretId, expiresAt, deactivatedAt])
}

function identifyToken({ tokenId, hash, createdAt, expiresAt }: PersonalAccessToken): string {
  return JSON.stringify([tokenId, [...hash], createdAt, expiresAt])
}
