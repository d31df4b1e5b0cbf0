import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { EcdsaCurve } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { EcdsaCurve as BetaCurve } from '../../gen/iam/webkey/v2beta/web_key_pb.js'
import { type Administration, administrationOf } from '../support/administration.ts'
import { type OAuthInstance, startOAuthInstance } from '../support/oauth-instance.ts'
import { clientOf, TRANSPORTS, type TransportName, webKeyClient } from '../support/web-key-client.ts'

const HEADER = 'keyturn-warning'
const ED25519 = { config: { case: 'ed25519', value: {} } } as const
const RSA = { config: { case: 'rsa', value: {} } } as const
const P256 = { config: { case: 'ecdsa', value: { curve: EcdsaCurve.P256 } } } as const

let instance: OAuthInstance
let admin: Administration
/** The key that signs before each test. RSA keys take long to make. */
let rsaKeyId: string
beforeAll(async () => {
  instance = await startOAuthInstance({ KEYTURN_ACTIVATION_GUARD: 'off', KEYTURN_MAX_WEB_KEYS: '200' })
})
afterAll(() => instance?.stop())

/** Before each, one active RS256 key is all that there is. */
beforeEach(async () => {
  admin = await administrationOf(instance.keyturn)
  const { webKeys } = await admin.keys.listWebKeys({})
  if (!webKeys.some(({ keyId }) => keyId === rsaKeyId)) {
    rsaKeyId = (await admin.keys.createWebKey({ config: RSA })).webKey!.keyId
  }
  await admin.keys.activateWebKey({ keyId: rsaKeyId })
  admin = await administrationOf(instance.keyturn)
  await admin.keys.updateRotationPolicy({ policy: { config: RSA }, updateMask: { paths: ['config'] } })
  for (const { keyId } of (await admin.keys.listWebKeys({})).webKeys) {
    if (keyId !== rsaKeyId) await admin.keys.revokeWebKey({ keyId })
  }
})

/** A call, and the header of its answer. */
async function heard<T>(call: (options: { onHeader(headers: Headers): void }) => Promise<T>) {
  let header: string | null = null
  const response = await call({
    onHeader: (headers) => {
      header = headers.get(HEADER)
    },
  })
  return { response, header: header as string | null }
}

describe('creating the first key of an algorithm', () => {
  it.each(Object.keys(TRANSPORTS) as TransportName[])(
    'is answered with what is known to fail, over %s',
    async (name) => {
      const v2 = clientOf(WebKeyService, instance.keyturn.listenUrl, { token: admin.token, transport: name })
      const { response, header } = await heard((options) => v2.createWebKey({ config: ED25519 }, options))
      expect(response.warnings).toEqual([
        expect.stringContaining('no web key has the algorithm EdDSA yet'),
        expect.stringContaining('node-jose 2.2'),
        expect.stringContaining('jsonwebtoken'),
      ])
      expect(header).toBe(response.warnings.join('; '))

      const beta = webKeyClient(instance.keyturn.listenUrl, admin.token, name)
      const p521 = { config: { case: 'ecdsa', value: { curve: BetaCurve.P521 } } } as const
      expect((await heard((options) => beta.createWebKey({ config: p521 }, options))).header).toContain(
        'firebase/php-jwt 7',
      )
    },
  )
})

describe('a rotation policy with another algorithm', () => {
  const setKind = (config: typeof P256 | typeof RSA) =>
    heard((options) =>
      admin.keys.updateRotationPolicy({ policy: { config }, updateMask: { paths: ['config'] } }, options),
    )

  it('is stored, and answered with what is known to fail', async () => {
    const { response, header } = await setKind(P256)
    expect(response.policy?.config).toMatchObject(P256)
    expect(response.warnings).toEqual([expect.stringContaining('no web key has the algorithm ES256 yet')])
    expect(header).toBe(response.warnings.join('; '))
  })
})
