/**
 * Access tokens of another Keyturn, for this one. `test/process/keyturn-as-issuer.test.ts` has the rotation of its keys.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { freePort } from '../support/free-port.ts'
import { type KeyturnProcess, removeFolder, runKeyturnInProcess, startKeyturn } from '../support/keyturn.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts'
import { runSection } from './page-commands.ts'
import { exchange } from './token-exchange.ts'

const REFUSED = { status: 401, error: 'invalid_client' }

let partner: KeyturnProcess
let here: KeyturnProcess
/** The credentials of the user there. */
let credentials: string
let clientId: string

beforeAll(async () => {
  const port = await freePort()
  const tls = {
    KEYTURN_LISTEN: `127.0.0.1:${port}`,
    KEYTURN_BASE_URL: `https://localhost:${port}`,
    KEYTURN_TLS_CERT_FILE: CERTIFICATE,
    KEYTURN_TLS_KEY_FILE: CERTIFICATE_KEY,
  }
  ;[partner, here] = await Promise.all([
    startKeyturn({ env: tls }),
    startKeyturn({ env: { KEYTURN_ISSUER_NETWORKS: '127.0.0.1, ::1' } }),
  ])
  await keyturn(here, 'projects', 'create', 'shop')
  clientId = created(await keyturn(here, 'users', 'create', 'checkout', '--project', 'shop'))
  const robot = await addRobot('partner')
  credentials = robot.credentials
  const folder = join(here.dataDir, 'page')
  await mkdir(folder)
  await runSection('Another Keyturn', {
    folder,
    dataDir: here.dataDir,
    instead: {
      'https://tokens.example.com': here.baseUrl,
      'https://tokens.partner.example': partner.baseUrl,
      'checkout@shop': clientId,
      '--discovery': `--discovery --issuer-ca ${CERTIFICATE}`,
      USER_ID: robot.userId,
    },
    // One of the commands is for the other one.
    functions: `
      at() { KEYTURN_DATA_DIR="$1" "$NODE" "$MAIN" "\${@:2}"; }
      keyturn() { case $1 in projects) at "$PARTNER_DATA_DIR" "$@" ;; *) at "$KEYTURN_DATA_DIR" "$@" ;; esac; }`,
    env: { PARTNER_DATA_DIR: partner.dataDir, KEYTURN_CA_FILE: CERTIFICATE },
  })
})
afterAll(async () => {
  for (const server of [partner, here]) {
    await server?.stop()
    if (server !== undefined) await removeFolder(server.dataDir)
  }
})

/** Adds a project there, with a user and the file of its credentials. */
async function addRobot(project: string): Promise<{ userId: string; credentials: string }> {
  await keyturn(partner, 'projects', 'create', project)
  const robot = created(await keyturn(partner, 'users', 'create', 'robot', '--project', project))
  const [secret = ''] = /ktn_cs_[\w-]+/.exec(await keyturn(partner, 'secrets', 'generate', robot)) ?? []
  const file = join(partner.dataDir, `${project}.json`)
  const content = { ...(await partner.admin()), client_id: robot, client_secret: secret }
  await writeFile(file, JSON.stringify(content), { mode: 0o600 })
  return { userId: robot.split('@')[0]!, credentials: file }
}

/** Runs a command beside a server and returns what it prints. */
async function keyturn(server: KeyturnProcess, ...args: string[]): Promise<string> {
  const env = { KEYTURN_DATA_DIR: server.dataDir, KEYTURN_CA_FILE: CERTIFICATE }
  const { code, stdout, stderr } = await runKeyturnInProcess(args, env)
  if (code !== 0) throw new Error(`keyturn ${args.join(' ')} ended with ${code}:\n${stderr}`)
  return stdout.trim()
}

function created(printed: string): string {
  return printed.replace('created ', '')
}

const tokenFor = (...options: string[]) => keyturn(partner, 'token', '--credentials', credentials, ...options)

describe('an access token of another Keyturn', () => {
  it('gets a token after the commands of the page, if it is for this one', async () => {
    const jwt = await tokenFor('--audience', here.baseUrl)
    expect(await exchange(here, { jwt })).toMatchObject({
      status: 200,
      claims: { iss: here.baseUrl, client_id: clientId },
    })
  })

  it.each([
    ['its project', ['--audience', 'own']],
    ['the API there', ['--audience', 'api']],
  ])('gets none if it is for %s', async (_, options) => {
    expect(await exchange(here, { jwt: await tokenFor(...options) })).toEqual(REFUSED)
  })

  it('has another audience if it is of a second project there, and gets a token if the identity names that', async () => {
    const robot = await addRobot('second')
    const addAudience = (audience: string) => keyturn(partner, 'projects', 'audiences', 'add', 'second', audience)
    await expect(addAudience(here.baseUrl)).rejects.toThrow('PROJECT_AUDIENCE_TAKEN')
    const audience = `${here.baseUrl}/second`
    await addAudience(audience)
    const identity = ['--issuer', partner.baseUrl, '--subject', robot.userId, '--audience', audience]
    await keyturn(here, 'federation', 'identities', 'add', clientId, ...identity)
    const jwt = await keyturn(partner, 'token', '--credentials', robot.credentials, '--audience', audience)
    expect(await exchange(here, { jwt })).toMatchObject({ status: 200, claims: { client_id: clientId } })
  })
})
