/**
 * `keyturn federation issuers update` with another source of keys, of issuers that are served over https.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type HttpsIssuer, newIssuerKey, startHttpsIssuer } from '../../support/https-issuer.ts'
import { createAuthority } from '../../support/server-certificates.ts'
import { openTerminal, says, type Terminal } from '../../support/terminal.ts'

const authority = createAuthority()
const key = newIssuerKey('first')

let terminal: Terminal
let issuer: HttpsIssuer
let ca: string
let given: string
beforeAll(async () => {
  ;[terminal, issuer] = await Promise.all([
    openTerminal({ env: { KEYTURN_ISSUER_NETWORKS: '127.0.0.1, ::1' } }),
    startHttpsIssuer(authority),
  ])
  issuer.publish(key)
  ca = await file('ca.pem', authority.cert)
  given = await file('keys.json', JSON.stringify({ keys: [newIssuerKey('given').jwk] }))
})
afterAll(async () => {
  await terminal?.close()
  await issuer?.stop()
})

async function file(name: string, content: string): Promise<string> {
  const path = join(terminal.server.dataDir, name)
  await writeFile(path, content)
  return path
}

const update = (...options: string[]) => terminal.run('federation', 'issuers', 'update', issuer.url, ...options)

async function keys(): Promise<Record<string, unknown>> {
  const { trustedIssuer } = await terminal.json<{ trustedIssuer: { keys: Record<string, unknown> } }>(
    ...['federation', 'issuers', 'show', issuer.url],
  )
  return trustedIssuer.keys
}

describe('keyturn federation issuers update, with another source', () => {
  it('says what came of the first fetch, and keeps the settings of fetches', async () => {
    await terminal.lines('federation', 'issuers', 'create', issuer.url, '--keys', given)
    expect(await update('--discovery', '--issuer-ca', ca, '--max-staleness', '7200')).toEqual({
      code: 0,
      stdout: `updated ${issuer.url}\nfetched: first\n`,
      stderr: '',
    })
    expect(await update('--jwks-url', `${issuer.url}/jwks`)).toEqual({
      code: 0,
      stdout: `updated ${issuer.url}\nfetched: first\n`,
      stderr: '',
    })
    const settings = { caCertificates: authority.cert, maxStalenessSeconds: 7200 }
    expect(await keys()).toEqual({ jwksUrl: `${issuer.url}/jwks`, ...settings })

    expect(await update('--jwks-url', `${issuer.url}/jwks`, '--max-staleness', '3600')).toEqual(
      says(`updated ${issuer.url}`),
    )
    const failed = await update('--jwks-url', `${issuer.url}/nothing`)
    expect(failed).toEqual({
      code: 1,
      stdout: '',
      stderr: `keyturn: ${issuer.url} is updated, and its keys could not be fetched: ${issuer.url}/nothing answers with status 404\n`,
    })
  })

  it('trusts the usual authorities again if it is to', async () => {
    expect((await update('--no-issuer-ca')).stderr).toContain(
      'has a certificate that is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    )
    expect(await keys()).not.toHaveProperty('caCertificates')
    expect(await update('--keys', given)).toEqual(says(`updated ${issuer.url}`))
  })
})
