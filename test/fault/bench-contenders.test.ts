import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { requestToken } from '../../bench/contenders/administrator.ts'
import { ALGORITHMS, type Contender, SCOPE } from '../../bench/contenders/contender.ts'
import { startKeyturnContender } from '../../bench/contenders/keyturn.ts'
import { type Place, startFloor, startOidcProvider } from '../../bench/contenders/references.ts'
import { Cleanup } from '../../bench/processes/cleanup.ts'

describe('what Keyturn is compared with', () => {
  let place: Place
  beforeEach(async () => {
    place = { folder: await mkdtemp(join(tmpdir(), 'keyturn-test-')), cleanup: new Cleanup() }
  })
  afterEach(async () => {
    await place.cleanup.run()
    await rm(place.folder, { recursive: true, force: true })
  })

  const firstClient = ({ clients }: Contender) => clients[0] ?? { clientId: '', clientSecret: '' }
  const tokenOf = (contender: Contender) => requestToken(contender.tokenUrl, firstClient(contender))

  it.each(ALGORITHMS)('issues tokens that verify and say the same, signed with %s', async (algorithm) => {
    const keyturn = await startKeyturnContender('keyturn', algorithm, { settings: {}, place })
    const expected = Object.keys(decodeJwt(await tokenOf(keyturn))).sort()

    for (const start of [startOidcProvider, startFloor]) {
      const contender = await start(algorithm, place)
      const { payload, protectedHeader } = await jwtVerify(
        await tokenOf(contender),
        createRemoteJWKSet(new URL(contender.keySetUrl)),
        { issuer: contender.issuer, audience: contender.issuer, typ: 'at+jwt' },
      )
      expect(protectedHeader.alg).toBe(algorithm)
      expect(payload).toMatchObject({ client_id: firstClient(contender).clientId, scope: SCOPE })
      expect(Object.keys(payload).sort()).toEqual(expected)
      expect(payload.aud).toEqual([contender.issuer])
    }
  })

  it.each([
    ['oidc-provider', startOidcProvider],
    ['the floor', startFloor],
  ])('refuses a wrong secret in %s', async (_name, start) => {
    const contender = await start('EdDSA', place)
    const wrong = { ...firstClient(contender), clientSecret: 'ktn_cs_wrong' }
    await expect(requestToken(contender.tokenUrl, wrong)).rejects.toThrow()
  })
})
