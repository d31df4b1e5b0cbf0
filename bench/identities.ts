/**
 * What it costs that there are many service users: 100,000 of them in a real PostgreSQL, two replicas.
 *
 * Measures a user's first token request and the ones after it, the memory of a replica that has seen more users than it
 * keeps, and how long a deactivated secret works on the other replica.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { ServiceUserService } from '../gen/iam/user/v2/service_user_service_pb.js'
import { generateMasterKey } from '../src/crypto/master-keys.ts'
import { type Keyturn, startKeyturn } from '../test/support/keyturn.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { requestToken } from '../test/support/web-key-client.ts'

const USERS = 100_000
const SAMPLES = 300
const DISTINCT = 12_000
const ROTATIONS = 20
const SECRET = 'the same for all users of this bench'

const postgres = await startPostgres()
const replicas: Keyturn[] = []
try {
  const url = await postgres.createDatabase()
  const env = { KEYTURN_DATABASE_URL: url, KEYTURN_MASTER_KEYS: generateMasterKey(), KEYTURN_LOG_LEVEL: 'error' }
  const baseUrl = 'http://localhost:1'
  const a = await startKeyturn({ env: { ...env, KEYTURN_BASE_URL: baseUrl } })
  const b = await startKeyturn({ env: { ...env, KEYTURN_BASE_URL: baseUrl } })
  replicas.push(a, b)
  const admin = { ...(await a.admin()), base_url: a.listenUrl, token_endpoint: `${a.listenUrl}/oauth/v2/token` }

  const userIds = await seedUsers(url)
  const token = (userId: string, replica = a) =>
    requestToken({
      ...admin,
      token_endpoint: `${replica.listenUrl}/oauth/v2/token`,
      client_id: `${userId}@bench`,
      client_secret: SECRET,
    })

  // An ES256 key, so that signing does not hide the rest.
  await useQuickKey(a, await requestToken(admin))
  for (const userId of userIds.slice(-50)) await token(userId)

  const first = await timed(userIds.slice(0, SAMPLES), token)
  const again = await timed(userIds.slice(0, SAMPLES), token)
  report('first request of a user, ms', first)
  report('any other request, ms', again)

  const before = residentMegabytes(a)
  for (let i = 0; i < DISTINCT; i += 20) await Promise.all(userIds.slice(i, i + 20).map((userId) => token(userId)))
  console.log(`resident memory, MB: ${before} before, ${residentMegabytes(a)} after ${DISTINCT} distinct users`)

  report('deactivated secret still works on the other replica, ms', await propagation(a, b, admin, userIds[0] ?? ''))
} finally {
  for (const replica of replicas) await replica.stop()
  await postgres.stop()
}

async function seedUsers(url: string): Promise<string[]> {
  const hash = createHash('sha256').update(SECRET).digest('hex')
  await postgres.query(
    `insert into projects (project_id, name, creation_date) values (gen_random_uuid(), 'bench', now())`,
    [],
    url,
  )
  await postgres.query(
    `insert into service_users (user_id, project_id, name, enabled, client_credentials_enabled, creation_date)
     select gen_random_uuid(), project_id, 'robot', true, true, now()
     from projects, generate_series(1, ${USERS}) where projects.name = 'bench'`,
    [],
    url,
  )
  await postgres.query(
    `insert into client_secrets (secret_id, user_id, hash, creation_date)
     select gen_random_uuid(), user_id, decode('${hash}', 'hex'), now() from service_users where name = 'robot'`,
    [],
    url,
  )
  await postgres.query('analyze', [], url)
  const rows = await postgres.query<{ user_id: string }>(
    `select user_id from service_users where name = 'robot' limit ${DISTINCT}`,
    [],
    url,
  )
  return rows.map((row) => row.user_id)
}

async function useQuickKey(replica: Keyturn, accessToken: string): Promise<void> {
  const call = async (method: string, body: object) => {
    const response = await fetch(`${replica.listenUrl}/iam.webkey.v2beta.WebKeyService/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as { details: { keyId: string } }
  }
  const { details } = await call('CreateWebKey', { config: { ecdsa: { curve: 'ECDSA_CURVE_P256' } } })
  await call('ActivateWebKey', { keyId: details.keyId })
}

async function timed(userIds: readonly string[], work: (userId: string) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (const userId of userIds) {
    const startedAt = performance.now()
    await work(userId)
    times.push(performance.now() - startedAt)
  }
  return times
}

/** Deactivates fresh secrets on one replica and asks the other one until it refuses. */
async function propagation(
  a: Keyturn,
  b: Keyturn,
  admin: Parameters<typeof requestToken>[0],
  userId: string,
): Promise<number[]> {
  const users = createClient(
    ServiceUserService,
    createConnectTransport({
      baseUrl: a.listenUrl,
      httpVersion: '1.1',
      interceptors: [
        (next) => async (req) => {
          req.header.set('authorization', `Bearer ${await requestToken(admin)}`)
          return next(req)
        },
      ],
    }),
  )
  const times: number[] = []
  for (let i = 0; i < ROTATIONS; i += 1) {
    const generated = await users.generateClientSecret({ userId })
    const credentials = {
      ...admin,
      token_endpoint: `${b.listenUrl}/oauth/v2/token`,
      client_id: generated.clientId,
      client_secret: generated.clientSecret,
    }
    while ((await requestToken(credentials).catch(() => undefined)) === undefined) {
      // The other replica has not heard of the new secret yet.
    }
    await users.deactivateClientSecret({ userId, secretId: generated.secret?.secretId ?? '' })
    const deactivatedAt = performance.now()
    while ((await requestToken(credentials).catch(() => undefined)) !== undefined) {
      // It still works there.
    }
    times.push(performance.now() - deactivatedAt)
  }
  return times
}

function report(what: string, values: number[]): void {
  const sorted = values.sort((x, y) => x - y)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1)
  console.log(`${what}: median ${at(0.5)}, p99 ${at(0.99)}, worst ${at(1)} (n=${sorted.length})`)
}

function residentMegabytes(replica: Keyturn): number {
  const status = readFileSync(`/proc/${replica.process.pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
}
