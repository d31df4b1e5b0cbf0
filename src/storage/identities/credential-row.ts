/**
 * Credentials of a service user as rows, in both directions.
 *
 * They are read as JSON together with their user (`service-user-row.ts`). JSON has neither bytes nor dates: hashes are
 * hexadecimal, dates are text.
 */
import type { ClientSecret, PersonalAccessToken, UserKey } from '../../domain/identities/credential.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { toUserJwk } from '../keys/public-jwk.ts'

interface ClientSecretJson {
  readonly secret_id: string
  readonly hash: string
  readonly creation_date: Date | string
  readonly expiration_date: Date | string | null
  readonly deactivation_date: Date | string | null
  readonly last_use_date: Date | string | null
}

interface UserKeyJson {
  readonly key_id: string
  readonly public_jwk: unknown
  readonly creation_date: Date | string
  readonly expiration_date: Date | string | null
  readonly mac: string
}

interface PersonalAccessTokenJson {
  readonly token_id: string
  readonly hash: string
  readonly creation_date: Date | string
  readonly expiration_date: Date | string
}

export function toClientSecret(json: ClientSecretJson): ClientSecret {
  return {
    secretId: json.secret_id,
    hash: toBytes(json.hash),
    createdAt: new Date(json.creation_date),
    expiresAt: toDate(json.expiration_date),
    deactivatedAt: toDate(json.deactivation_date),
    lastUsedAt: toDate(json.last_use_date),
  }
}

export function toClientSecretRow(userId: string, secret: ClientSecret) {
  return {
    secret_id: secret.secretId,
    user_id: userId,
    hash: secret.hash,
    creation_date: secret.createdAt,
    expiration_date: secret.expiresAt,
    deactivation_date: secret.deactivatedAt,
    last_use_date: secret.lastUsedAt,
  }
}

/** @throws {Error} if the row has no public key, or its MAC is wrong. */
export function toUserKey(userId: string, json: UserKeyJson, macs: PublicKeyMacs): UserKey {
  const key = { keyId: json.key_id, publicJwk: toUserJwk(json.public_jwk) }
  try {
    macs.assert('userKeys', { ...key, userId }, toBytes(json.mac))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`key ${json.key_id}: ${reason}`, { cause: error })
  }
  return { ...key, createdAt: new Date(json.creation_date), expiresAt: toDate(json.expiration_date) }
}

export function toUserKeyRow(userId: string, key: UserKey, macs: PublicKeyMacs) {
  return {
    key_id: key.keyId,
    user_id: userId,
    public_jwk: JSON.stringify(key.publicJwk),
    creation_date: key.createdAt,
    expiration_date: key.expiresAt,
    mac: macs.of('userKeys', { ...key, userId }),
  }
}

export function toPersonalAccessToken(json: PersonalAccessTokenJson): PersonalAccessToken {
  return {
    tokenId: json.token_id,
    hash: toBytes(json.hash),
    createdAt: new Date(json.creation_date),
    expiresAt: new Date(json.expiration_date),
  }
}

export function toPersonalAccessTokenRow(userId: string, token: PersonalAccessToken) {
  return {
    token_id: token.tokenId,
    user_id: userId,
    hash: token.hash,
    creation_date: token.createdAt,
    expiration_date: token.expiresAt,
  }
}

function toBytes(hexadecimal: string): Uint8Array {
  return new Uint8Array(Buffer.from(hexadecimal, 'hex'))
}

function toDate(date: Date | string | null): Date | null {
  return date === null ? null : new Date(date)
}
