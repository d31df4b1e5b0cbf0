/**
 * `docs/clients-with-certificates.md` as it stands, against a server with TLS of a private authority.
 */
import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { missing } from '../support/foreign-tools.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { fetchWith, TLS_SETTINGS } from '../support/mtls-client.ts'
import { type OAuthInstance, type Robot, startOAuthInstance } from '../support/oauth-instance.ts'
import { describeUnless } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/clients-with-certificates.md'), 'utf8')
const PACKAGES = join(import.meta.dirname, 'certificates')
/** In the place of the package that the page installs, with the versions of the lock file. */
const INSTALL = `cp ${PACKAGES}/package*.json . && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error`
const KEYTURN = `npx() { shift; '${process.execPath}' '${ROOT}/src/cli/keyturn.js' "$@"; }`

const needs = { curl: 'curl --version', jq: 'jq --version', openssl: 'openssl version', npm: 'npm --version' }

describeUnless(missing({ needs }))('docs/clients-with-certificates.md', () => {
  let instance: OAuthInstance
  let robot: Robot
  let folder: string
  const printed: string[] = []

  beforeAll(async () => {
    instance = await startOAuthInstance({ ...TLS_SETTINGS, KEYTURN_MTLS: 'tls' })
    robot = await instance.addRobot({ certificateBoundTokens: true, instanceRoles: ['IAM_OWNER_VIEWER'] })
    folder = await temporaryFolder()
    copyFileSync(TLS_SETTINGS.KEYTURN_TLS_CERT_FILE, join(folder, 'ca.pem'))
    for (const [, language, code = ''] of PAGE.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
      const [, file] = /^\/\/ (\S+)\n/.exec(code) ?? []
      if (language === 'js') await writeFile(join(folder, file!), code)
      else printed.push(await shell(code.replace(/^npm install .*$/m, INSTALL)))
    }
  }, 600_000)

  afterAll(async () => {
    await instance?.stop()
    await removeFolder(folder)
  })

  async function shell(commands: string): Promise<string> {
    const env = {
      ...process.env,
      ISSUER: instance.keyturn.baseUrl,
      CLIENT_ID: robot.clientId,
      KEYTURN_DATA_DIR: instance.keyturn.dataDir,
      KEYTURN_CA_FILE: join(folder, 'ca.pem'),
    }
    const command = `${KEYTURN}\n${commands}`
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], { cwd: folder, env })).stdout
  }

  it('registers a certificate, and calls the API with curl and a token that is bound to it', async () => {
    expect(printed[1]).toMatch(/^added /)
    expect(JSON.parse(printed[3]!).webKeys).toHaveLength(1)
    const token = readFileSync(join(folder, 'token'), 'utf8').trim()
    const response = await fetchWith()(`${instance.keyturn.listenUrl}/iam.webkey.v2.WebKeyService/ListWebKeys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).toBe(401)
  })

  it('gets a bound token with openid-client', () => {
    expect(decodeJwt(printed.at(-1)!.trim())).toMatchObject({
      client_id: robot.clientId,
      cnf: { 'x5t#S256': expect.any(String) },
    })
  })
})
