/**
 * TLS to the database as managed PostgreSQL asks for it: by the name in its certificate, and an authority of its own.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { authorityOf, certificateOf, SERVER_AUTH } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { databaseUser, giveTo } from '../support/system-user.ts'
import { createPostgresServer, type PostgresServer } from './postgres-server.ts'

const authority = authorityOf('Databases')

let folder: string
let server: PostgresServer
const started: Keyturn[] = []

beforeAll(async () => {
  const user = await databaseUser()
  folder = await mkdtemp(join(tmpdir(), 'keyturn-tls-'))
  await giveTo(user, folder)
  await write('authority.pem', authority.pem)
  await write('another.pem', authorityOf('Others').pem)
  server = await createPostgresServer()
  await server.stop('fast')
})
afterEach(async () => {
  await removeServers(...started.splice(0))
  await server.stop('fast')
})
afterAll(async () => {
  await server?.destroy()
  await rm(folder, { recursive: true, force: true })
})

/** Writes a file that PostgreSQL may read. */
async function write(name: string, content: string): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, content, { mode: 0o600 })
  await giveTo(await databaseUser(), file)
  return file
}

/** Starts PostgreSQL with a certificate for a name. */
async function startDatabase(name: string): Promise<void> {
  const { pem, keyPem } = certificateOf({ issuer: authority, dns: [name], extendedKeyUsage: [SERVER_AUTH] })
  const [certificate, key] = [await write('server.pem', pem), await write('server.key', keyPem)]
  await server.start(['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`])
}

let databases = 0

/** Starts a server on a database of its own. */
async function start(authorityFile: string): Promise<Keyturn> {
  databases += 1
  await server.query(`create database of_its_own_${databases}`)
  const url = new URL(server.url())
  url.pathname = `of_its_own_${databases}`
  url.hostname = 'localhost'
  url.search = String(new URLSearchParams({ sslmode: 'verify-full', sslrootcert: join(folder, authorityFile) }))
  const keyturn = await startKeyturnInProcess({
    env: { KEYTURN_DATABASE_URL: url.href, KEYTURN_MASTER_KEYS: generateMasterKey() },
  })
  started.push(keyturn)
  return keyturn
}

describe('a database with a certificate of an authority of its own', () => {
  it('is reached by TLS with sslmode=verify-full and sslrootcert', async () => {
    await startDatabase('localhost')
    const keyturn = await start('authority.pem')
    expect(await requestToken(await keyturn.admin())).toMatch(/^ey/)
    const connections = await server.query(
      `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'keyturn'`,
    )
    expect(connections).toContainEqual({ ssl: true })
    expect(connections).not.toContainEqual({ ssl: false })
  })

  it('is out of reach, and tokens go on from memory, when it comes back with a certificate for another name', async () => {
    await startDatabase('localhost')
    const keyturn = await start('authority.pem')
    const admin = await keyturn.admin()
    await requestToken(admin)
    await server.stop('fast')
    await startDatabase('db.example')
    await eventually(async () => {
      const response = await fetch(new URL('/readyz', keyturn.listenUrl))
      // A state that cannot be read would be served for 10 s only.
      const passed = expect.stringMatching(/tokens go on from memory for 60 s, of which (1[2-9]|[2-5]\d) s have passed/)
      expect({ status: response.status, state: await response.json() }).toMatchObject({
        status: 200,
        state: { warnings: [passed] },
      })
    })
    expect(await requestToken(admin)).toMatch(/^ey/)
    await server.stop('fast')
    await startDatabase('localhost')
    await eventually(async () => {
      const response = await fetch(new URL('/readyz', keyturn.listenUrl))
      expect((await response.json()) as object).not.toHaveProperty('warnings')
    })
  })

  it('is refused if its name is another one', async () => {
    await startDatabase('db.example')
    await expect(start('authority.pem')).rejects.toMatchObject({
      cause: { message: expect.stringContaining('altnames') },
    })
  })
})
