import { expect, it } from '@jest/globals'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { RsaBits } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { requestToken } from '../support/keyturn.ts'
import { describeConsole } from './console-tests.ts'

/** Of another kind than the policy's: its length is another one. */
const LONGER = { config: { case: 'rsa', value: { bits: RsaBits.RSA_BITS_3072 } } } as const

describeConsole(
  'a rotation in the console',
  (test) => {
    it('leaves every token valid at a verifier that is not ours', async () => {
      const { page, server } = test
      const keySet = createRemoteJWKSet(new URL(`${server.baseUrl}/.well-known/openid-configuration/jwks`), {
        cooldownDuration: 0,
      })
      const kidOf = async (token: string) => (await jwtVerify(token, keySet)).protectedHeader.kid
      const newToken = async () => requestToken(await server.admin())
      const before = await newToken()
      const old = await kidOf(before)
      const { keyId: longer } = (await test.owner.keys.createWebKey({ config: LONGER })).webKey!
      await page.getByRole('button', { name: 'Rotate now' }).click()
      await page
        .getByRole('dialog')
        .getByText(
          'No key of the kind that the policy names (RSA 2048, SHA-256) stands by: one is created now, and signs 6 s after its publication',
        )
        .waitFor()
      await page
        .getByRole('dialog')
        .getByText(`${longer.slice(0, 8)}… is of another kind (RSA 3072, SHA-256)`)
        .waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
      await page
        .getByRole('status')
        .getByText(/signs all new tokens from .* on, when verifiers know it/)
        .waitFor()
      // By itself, as soon as the copies of verifiers have expired.
      const row = page.getByRole('row').filter({ hasText: old!.slice(0, 8) })
      await row.getByText('inactive', { exact: true }).waitFor()
      await row.getByText(/tokens until .* still need it/).waitFor()
      const after = await newToken()
      expect(await kidOf(after)).not.toBe(old)
      expect(await kidOf(before)).toBe(old)
    })
  },
  // A key is known to verifiers after both together.
  { KEYTURN_JWKS_MAX_AGE: '1', KEYTURN_MAX_STALENESS: '5' },
)
