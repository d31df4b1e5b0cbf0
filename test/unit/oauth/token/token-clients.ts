/**
 * Clients of the token endpoint with all kinds of credentials and grants, and servers that know them.
 */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { KeySnapshot } from '../../../../src/app/replica/replica-memory.ts'
import { createKeyPairGenerator } from '../../../../src/crypto/key-pair.ts'
import { generateMasterKey, parseMasterKeys } from '../../../../src/crypto/master-keys.ts'
import { createKeySealer } from '../../../../src/crypto/sealed-key.ts'
import { createSignerFactory } from '../../../../src/crypto/signer.ts'
import type { ClientSecret } from '../../../../src/domain/identities/credential.ts'
import { createServiceUser, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import type { PublicJwk } from '../../../../src/domain/keys/key-algorithm.ts'
import { activate, createWebKey } from '../../../../src/domain/keys/web-key.ts'
import { TEST_INTEGRITY } from '../../../support/integrity.ts'
import { type Clients, tokenRequests } from './token-requests.ts'
import { startTokenServer, THUMBPRINT } from './token-server.ts'

export const ISSUER = 'http://localhost:1'
/** About that of this machine, by which oidc-provider goes. */
export const NOW = new Date()
const PROJECT = '7f1de9e9-7c63-4f0c-8bb3-111111111111'
const OTHER_PROJECT = '7f1de9e9-7c63-4f0c-8bb3-222222222222'
const FOREIGN_PROJECT = '7f1de9e9-7c63-4f0c-8bb3-333333333333'

export const { clientSecrets: secrets } = TEST_INTEGRITY.secrets
const [first, second, expired, deactivated] = [0, 1, 2, 3].map(() => secrets.generate())

export { first }
export const users = new Map<string, ServiceUser>()
const [userKey, otherKey] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')]
const publicJwk = (await exportJWK(userKey.publicKey)) as PublicJwk

function addUser(last: number, { credentials = [], ...more }: Partial<ServiceUser> = {}): string {
  const userId = `0b6e2f5c-9a3d-4a57-8f65-00000000000${last}`
  const facts = { userId, name: 'robot', projectId: PROJECT, projectName: 'billing', clientCredentialsEnabled: true }
  const keep = (
    credentialId: string,
    { hash }: { hash: Uint8Array },
    dates: Partial<ClientSecret> = {},
  ): ClientSecret => {
    const never = { createdAt: NOW, expiresAt: null, deactivatedAt: null, lastUsedAt: null }
    return { kind: 'client_secret', credentialId, hash, ...never, ...dates }
  }
  users.set(userId, {
    ...createServiceUser(facts, NOW),
    credentials: [
      keep('first', first!),
      keep('second', second!, { expiresAt: new Date(NOW.getTime() + 1) }),
      keep('expired', expired!, { expiresAt: NOW }),
      keep('deactivated', deactivated!, { deactivatedAt: NOW }),
      { kind: 'user_key', credentialId: 'key', publicJwk, createdAt: NOW, expiresAt: null },
      ...credentials,
    ],
    projectRoles: new Map([
      [PROJECT, ['reader', 'writer']],
      [OTHER_PROJECT, ['viewer']],
    ]),
    customScopes: ['invoices:read'],
    projectsByAudience: new Map([
      ['https://billing.example', PROJECT],
      ['urn:shipping', OTHER_PROJECT],
    ]),
    ...more,
  })
  return `${userId}@billing`
}

export const clientId = addUser(1)
const assert = (audience: string, { privateKey }: typeof userKey) =>
  new SignJWT({ iss: clientId, sub: clientId, aud: audience, jti: 'once', exp: Math.floor(NOW.getTime() / 1000) + 60 })
    .setProtectedHeader({ alg: 'ES256' })
    .sign(privateKey)

export const clients: Clients = {
  issuer: ISSUER,
  clientId,
  secret: first!.secret,
  otherSecrets: { second: second!.secret, expired: expired!.secret, deactivated: deactivated!.secret },
  assertions: {
    good: await assert(ISSUER, userKey),
    forElsewhere: await assert('https://elsewhere.example', userKey),
    byOtherKey: await assert(ISSUER, otherKey),
  },
  disabled: addUser(2, { enabled: false }),
  withSettings: addUser(4, { tokenLifetimeSeconds: 120, tokenClaims: { tenant: 'a', level: { of: [1, null] } } }),
  withoutGrant: addUser(3, { clientCredentialsEnabled: false }),
  boundOnly: addUser(8, { boundTokensRequired: true }),
  certificateBound: addUser(7, { certificateBoundTokens: true }),
  certified: addUser(6, {
    credentials: [
      {
        kind: 'client_certificate',
        credentialId: 'certificate',
        match: 'thumbprint',
        value: THUMBPRINT,
        createdAt: NOW,
        expiresAt: null,
      },
    ],
  }),
  unknown: '0b6e2f5c-9a3d-4a57-8f65-000000000009@billing',
  projectId: PROJECT,
  otherProjectId: OTHER_PROJECT,
  foreignProjectId: FOREIGN_PROJECT,
}
export const requests = tokenRequests(clients)
export const usual = requests[0]!

/** A key ring with one active key. */
export async function newKeys(): Promise<KeySnapshot> {
  const sealer = createKeySealer(parseMasterKeys(generateMasterKey()))
  const pair = await createKeyPairGenerator(sealer).generate({ kind: 'ecdsa', curve: 'P-256' })
  const key = activate(createWebKey(pair, NOW), NOW)
  return { ring: [key], signer: await createSignerFactory(sealer).open(key, pair.sealedPrivateKey) }
}

/** A server for each way in which token requests are answered. */
export interface TokenServers {
  readonly keys: KeySnapshot
  readonly direct: TokenServer
  readonly cold: TokenServer
  readonly providerOnly: TokenServer
}

export type TokenServer = Awaited<ReturnType<typeof startTokenServer>>

/** Starts them. Stop them in the end. */
export async function startTokenServers(): Promise<TokenServers> {
  const keys = await newKeys()
  const options = { issuer: ISSUER, keys, users, secrets, now: () => NOW }
  return {
    keys,
    direct: await startTokenServer({ ...options, answers: 'from memory' }),
    cold: await startTokenServer({ ...options, answers: 'from the database' }),
    providerOnly: await startTokenServer({ ...options, answers: 'by the provider' }),
  }
}

export async function stopTokenServers({ direct, cold, providerOnly }: TokenServers): Promise<void> {
  for (const server of [direct, cold, providerOnly]) await server.stop()
}
