import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import {
  type AdminCredentials,
  type Keyturn,
  removeFolder,
  runKeyturnInProcess,
  startKeyturnInProcess,
  temporaryFolder,
} from '../../support/keyturn.ts'
import { refuses } from '../../support/terminal.ts'

const file = (name: string) => join(import.meta.dirname, '../../support/tls', `${name}.pem`)
const CA = file('first.cert')
const CLIENT = ['--client-cert', file('client.cert'), '--client-key', file('client.key')]

let keyturn: Keyturn
let admin: AdminCredentials
let home: string
beforeAll(async () => {
  home = await temporaryFolder()
  keyturn = await startKeyturnInProcess({
    env: {
      KEYTURN_TLS_CERT_FILE: CA,
      KEYTURN_TLS_KEY_FILE: file('first.key'),
      KEYTURN_TLS_CLIENT_CA_FILE: file('authority.cert'),
    },
  })
  admin = await keyturn.admin()
})
afterAll(async () => {
  await keyturn?.stop()
  if (keyturn !== undefined) await removeFolder(keyturn.dataDir)
  await removeFolder(home)
})

/** Runs a command with the credentials of the server that wants client certificates. */
const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runKeyturnInProcess(args, { KEYTURN_DATA_DIR: keyturn.dataDir, ...env })

describe('a server that admits only clients with a certificate', () => {
  it('is called with the files of options, of variables or of a context', async () => {
    const variables = {
      KEYTURN_CA_FILE: CA,
      KEYTURN_CLIENT_CERT_FILE: file('client.cert'),
      KEYTURN_CLIENT_KEY_FILE: file('client.key'),
    }
    expect((await run(['keys', 'list', '--ca', CA, ...CLIENT])).stderr).toBe('')
    expect((await run(['keys', 'list'], variables)).stderr).toBe('')
    expect((await run(['token'], variables)).stderr).toBe('')
    const credentials = join(keyturn.dataDir, 'admin.json')
    const login = ['login', '--credentials', credentials, '--name', 'mtls', '--ca', CA, ...CLIENT]
    expect((await runKeyturnInProcess(login, { HOME: home })).stderr).toBe('')
    expect((await runKeyturnInProcess(['keys', 'list'], { HOME: home })).stderr).toBe('')
    expect(JSON.parse(await readFile(join(home, '.config/keyturn/contexts.json'), 'utf8')).contexts.mtls).toMatchObject(
      {
        ca: CA,
        clientCert: file('client.cert'),
        clientKey: file('client.key'),
      },
    )
  })
})

describe('a server that binds tokens to client certificates [RFC 8705 §3]', () => {
  it('is called with the certificate, also by a user who gets bound tokens only', async () => {
    const env = { KEYTURN_TLS_CERT_FILE: CA, KEYTURN_TLS_KEY_FILE: file('first.key'), KEYTURN_MTLS: 'tls' }
    const binding = await startKeyturnInProcess({ env })
    try {
      const { client_id: clientId } = await binding.admin()
      const call = (...args: string[]) =>
        runKeyturnInProcess([...args, '--ca', CA], { KEYTURN_DATA_DIR: binding.dataDir })
      const ok = { code: 0, stderr: '' }
      expect(await call('users', 'certificate-bound-tokens', clientId, 'on')).toMatchObject(ok)
      expect(await call('keys', 'list', ...CLIENT)).toMatchObject(ok)
      const { stdout } = await call('token', ...CLIENT)
      expect(decodeJwt(stdout.trim())).toHaveProperty('cnf')
      expect(await call('users', 'bound-tokens', clientId, 'required', ...CLIENT)).toMatchObject(ok)
      expect(await call('keys', 'list', ...CLIENT)).toMatchObject(ok)
      expect(await call('keys', 'list')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('bound tokens only'),
      })
    } finally {
      await binding.stop()
      await removeFolder(binding.dataDir)
    }
  })
})

const cannotReach = (url: string, code: string) => `cannot reach ${url} (${code})`

describe('the certificate of a server', () => {
  it('of an authority that is not trusted is answered with how to trust it', async () => {
    const advice = (code: string) =>
      `${cannotReach(admin.token_endpoint, code)}: no authority that is trusted has signed its certificate: ` +
      'name the certificate of its authority with --ca or KEYTURN_CA_FILE'
    expect(await run(['keys', 'list', ...CLIENT])).toEqual(refuses(advice('DEPTH_ZERO_SELF_SIGNED_CERT')))
    expect(await run(['keys', 'list', '--ca', file('authority.cert'), ...CLIENT])).toEqual(
      refuses(advice('DEPTH_ZERO_SELF_SIGNED_CERT')),
    )
  })
})

describe('files for TLS', () => {
  it.each<[string, string[], string]>([
    ['that are missing', ['--ca', '/nowhere/ca.pem'], 'cannot read /nowhere/ca.pem (ENOENT)'],
    [
      'of two pairs',
      ['--client-cert', CA, '--client-key', file('second.key')],
      `cannot use ${CA}, ${file('second.key')} for TLS (ERR_OSSL_X509_KEY_VALUES_MISMATCH): they must be PEM`,
    ],
    ['with no private key', ['--client-cert', CA, '--client-key', CA], `cannot use ${CA}, ${CA} for TLS (ERR_OSSL_`],
  ])('%s are named', async (_, args, message) => {
    const { code, stderr } = await run(['keys', 'list', ...args])
    expect(code).toBe(1)
    expect(stderr).toContain(`keyturn: ${message}`)
    expect(stderr).not.toContain('PRIVATE KEY')
  })
})
