/**
 * Schemathesis against a server: what it answers to requests that its description of the API allows, and to others, is as described, and
 * is never a 5xx. The checks are in `schemathesis/schemathesis.toml`.
 */
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonValue } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { everyRequest } from '../api/every-request.ts'
import { type Administration, administrationOf } from '../support/administration.ts'
import { cannotInstall, missing, shellIn } from '../support/foreign-tools.ts'
import { type KeyturnProcess, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const SOURCES = join(import.meta.dirname, 'schemathesis')
const TOOLS = {
  needs: { 'Python 3 with venv': 'python3 -c "import ensurepip, venv"' },
  install:
    'test -e "$CACHE/bin/python" || python3 -m venv "$CACHE"; pip install --quiet --disable-pip-version-check --requirement requirements.txt',
}
/** It takes three minutes on two quiet cores. */
jest.setTimeout(900_000)

/** The parts of the description that are looked at. */
interface Description {
  readonly paths: Readonly<Record<string, { readonly post?: { readonly requestBody: RequestBody } }>>
}

interface RequestBody {
  readonly content: Record<string, { examples?: Record<string, { readonly value: JsonValue }> }>
}

const folder = await temporaryFolder()
await cp(SOURCES, folder, { recursive: true })
const shell = shellIn(folder, 'schemathesis')
const obstacle = missing(TOOLS) ?? (await cannotInstall(TOOLS, shell))
if (obstacle !== undefined) {
  // Jest does not show the names of tests of a file in which all are skipped, and runs nothing after them.
  process.stderr.write(`Skipped Schemathesis: ${obstacle}\n`)
  await removeFolder(folder)
}

describeUnless(obstacle)('Schemathesis, with the description that a server serves,', () => {
  let server: KeyturnProcess
  let admin: Administration
  beforeAll(async () => {
    // Few keys, because generating them is what takes time. Successful reads of documents are logged at debug.
    server = await startKeyturn({ env: { KEYTURN_MAX_WEB_KEYS: '12', KEYTURN_LOG_LEVEL: 'debug' } })
    admin = await administrationOf(server)
  })
  afterAll(async () => {
    await server?.kill()
    if (server !== undefined) await removeFolder(server.dataDir)
    await removeFolder(folder)
  })

  it('finds no 5xx, and nothing that is not as described', async () => {
    const description = await descriptionWithExamples(server, admin)
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(description))
    const { client_id, base_url } = await server.admin()
    const userId = client_id.split('@')[0]!
    const { token } = await admin.users.createPersonalAccessToken({
      userId,
      expirationDate: timestampFromDate(new Date(Date.now() + 3_600_000)),
    })
    const printed = await shell('st --no-color run openapi.json --url "$KEYTURN_URL"', {
      KEYTURN_URL: base_url,
      KEYTURN_TOKEN: token,
      KEYTURN_ADMINISTRATOR: userId,
      SCHEMATHESIS_HOOKS: './hooks.py',
    })
    const answers = answersOf(server)
    process.stderr.write(`${printed.slice(printed.indexOf('Test cases:'))}${countsOf(answers)}\n`)

    // Otherwise the requests would all be refused at the first door.
    const found = new Set(answers.get(200))
    expect(Object.keys(description.paths).filter((path) => !found.has(path))).toEqual([])
    expect([...answers.keys()].filter((status) => status >= 500)).toEqual([])
    expect(server.output().stderr).not.toMatch(/"level":"(error|fatal)"/)
  })
})

function countsOf(answers: ReadonlyMap<number, readonly string[]>): string {
  return [...answers]
    .map(([status, { length }]) => `${length} times ${status}`)
    .sort()
    .join(', ')
}

/** The paths that the server answered, by status, as it has logged them. */
function answersOf(server: KeyturnProcess): ReadonlyMap<number, readonly string[]> {
  const lines = server.output().stderr.trim().split('\n')
  const requests = lines.map((line) => JSON.parse(line) as { msg: string; status: number; route: string })
  const answered = requests.filter(({ msg }) => msg === 'request')
  return new Map(
    [...Map.groupBy(answered, ({ status }) => status)].map(([status, of]) => [status, of.map(({ route }) => route)]),
  )
}

/** The description, with a request for each method that succeeds once, and forms for the OAuth endpoints. */
async function descriptionWithExamples(server: KeyturnProcess, admin: Administration): Promise<Description> {
  await admin.keys.updateRotationPolicy({ policy: { enabled: false }, updateMask: { paths: ['enabled'] } })
  const { client_id, client_secret } = await server.admin()
  const requests: Readonly<Record<string, JsonValue>> = {
    ...(await everyRequest(admin)),
    'iam.webkey.v2.WebKeyService/CreateWebKey': { config: { ed25519: {} } },
    'oauth/v2/token': { grant_type: 'client_credentials', client_id, client_secret, scope: 'openid' },
    'oauth/v2/introspect': { client_id, client_secret, token: admin.token },
    // What it calls the API with is another token.
    'oauth/v2/revoke': { client_id, client_secret, token: admin.token },
  }
  const description = (await (await fetch(`${server.listenUrl}/openapi.json`)).json()) as Description
  for (const [path, value] of Object.entries(requests)) {
    for (const type of Object.values(description.paths[`/${path}`]!.post!.requestBody.content)) {
      type.examples = { valid: { value } }
    }
  }
  return description
}
