/**
 * Writes the differences between the credentials of service users before and after a change, of all of them in a few statements.
 */
import { sql, type Transaction } from 'kysely'
import type { ClientSecret, PersonalAccessToken, UserKey } from '../../domain/identities/credential.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { writeFederatedIdentities } from '../federation/federated-identity-row.ts'
import { inChunks } from '../schema/chunks.ts'
import { type BeforeAndNext, differenceOfParts } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'
import { writeClientCertificates } from './client-certificate-row.ts'
import { toClientSecretRow, toPersonalAccessTokenRow, toUserKeyRow } from './credential-row.ts'

type Pairs = readonly BeforeAndNext<ServiceUser>[]

/** A part of a user with the id of the user. */
interface Owned<T> {
  readonly userId: string
  readonly part: T
}

/** Writes the differences, and returns whether there are any. */
export async function writeCredentials(trx: Transaction<Tables>, pairs: Pairs, macs: PublicKeyMacs): Promise<boolean> {
  const changes = [
    await writeSecrets(trx, pairs),
    await writeKeys(trx, pairs, macs),
    await writeTokens(trx, pairs),
    await writeFederatedIdentities(trx, pairs, macs),
    await writeClientCertificates(trx, pairs, macs),
  ]
  return changes.includes(true)
}

async function writeSecrets(trx: Transaction<Tables>, pairs: Pairs): Promise<boolean> {
  const { removed, added } = differenceOfParts(pairs, ownedSecrets, ({ part }) => identifySecret(part))
  if (removed.length > 0) {
    const ids = removed.map(({ part }) => part.secretId)
    await trx.deleteFrom('client_secrets').where(sql<boolean>`secret_id = any(${ids}::uuid[])`).execute()
  }
  for (const some of inChunks(added)) {
    await trx
      .insertInto('client_secrets')
      .values(some.map(({ userId, part }) => toClientSecretRow(userId, part)))
      .execute()
  }
  const inserted = new Set(added.map(({ part }) => part))
  const changed = differenceOfParts(pairs, ownedSecrets, ({ part }) => identifyEndOfSecret(part)).added
  const ended = changed.filter(({ part }) => !inserted.has(part))
  for (const { part } of ended) {
    // Only these columns: a last use may be written at the same time, outside of the lock.
    const end = { expiration_date: part.expiresAt, deactivation_date: part.deactivatedAt }
    await trx.updateTable('client_secrets').set(end).where('secret_id', '=', part.secretId).execute()
  }
  return removed.length + added.length + ended.length > 0
}

async function writeKeys(trx: Transaction<Tables>, pairs: Pairs, macs: PublicKeyMacs): Promise<boolean> {
  const owned = ({ userId, keys }: ServiceUser): readonly Owned<UserKey>[] => keys.map((part) => ({ userId, part }))
  const { removed, added } = differenceOfParts(pairs, owned, ({ part }) => JSON.stringify(part))
  if (removed.length > 0) {
    const ids = removed.map(({ part }) => part.keyId)
    await trx.deleteFrom('user_keys').where(sql<boolean>`key_id = any(${ids}::uuid[])`).execute()
  }
  for (const some of inChunks(added)) {
    await trx
      .insertInto('user_keys')
      .values(some.map(({ userId, part }) => toUserKeyRow(userId, part, macs)))
      .execute()
  }
  return removed.length + added.length > 0
}

async function writeTokens(trx: Transaction<Tables>, pairs: Pairs): Promise<boolean> {
  const owned = ({ userId, personalAccessTokens }: ServiceUser): readonly Owned<PersonalAccessToken>[] =>
    personalAccessTokens.map((part) => ({ userId, part }))
  const { removed, added } = differenceOfParts(pairs, owned, ({ part }) => identifyToken(part))
  if (removed.length > 0) {
    const ids = removed.map(({ part }) => part.tokenId)
    await trx.deleteFrom('personal_access_tokens').where(sql<boolean>`token_id = any(${ids}::uuid[])`).execute()
  }
  for (const some of inChunks(added)) {
    await trx
      .insertInto('personal_access_tokens')
      .values(some.map(({ userId, part }) => toPersonalAccessTokenRow(userId, part)))
      .execute()
  }
  return removed.length + added.length > 0
}

function ownedSecrets({ userId, secrets }: ServiceUser): readonly Owned<ClientSecret>[] {
  return secrets.map((part) => ({ userId, part }))
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
