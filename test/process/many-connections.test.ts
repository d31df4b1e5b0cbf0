import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect } from '@jest/globals'
import { generateMasterKey } from '../../src/crypto/master-keys.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { sharedPostgres } from '../support/new-database.ts'
import { itUnless, NOT_LINUX } from '../support/unless.ts'

const MAIN = join(import.meta.dirname, '../../src/cli/keyturn.js')
const OPEN_FILES = 256
/** More than the server can have. */
const STRANGERS = 600

const postgres = sharedPostgres()
let folder: string
let child: ChildProcess | undefined
let exited: Promise<unknown> | undefined
const strangers: Socket[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
})

afterEach(async () => {
  for (const socket of strangers) socket.destroy()
  child?.kill('SIGKILL')
  await exited
  await removeFolder(folder)
})
afterAll(() => postgres.stop())

itUnless(NOT_LINUX)('strangers with more connections than the server may have files open keep nobody out', async () => {
  child = spawn('sh', ['-c', `ulimit -n ${OPEN_FILES} && exec "$0" "$@"`, process.execPath, MAIN, 'serve'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      KEYTURN_LISTEN: '127.0.0.1:0',
      KEYTURN_METRICS_LISTEN: 'off',
      KEYTURN_DATA_DIR: folder,
      KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(),
      KEYTURN_MASTER_KEYS: generateMasterKey(),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  exited = once(child, 'exit')
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk
  })
  let output = ''
  const address = /listens on http:\/\/127\.0\.0\.1:(\d+)/
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  while (!address.test(output)) await once(child.stdout as NodeJS.EventEmitter, 'data')
  const port = Number(address.exec(output)?.[1])

  for (let i = 0; i < STRANGERS; i += 1) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    strangers.push(socket)
    await once(socket, 'connect')
  }
  for (const path of ['/readyz', '/.well-known/openid-configuration/jwks']) {
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200)
  }
  expect(log).toMatch(/"maxOpenFiles":256,"maxConnections":56.*fewer connections/)
})
