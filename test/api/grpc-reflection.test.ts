import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SERVICES } from '../support/administration.ts'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'

const BUF = join(import.meta.dirname, '../../node_modules/@bufbuild/buf/bin/buf')

/** The services that anybody may call. A name more is a decision about what strangers may see. */
const PUBLIC = [
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
]

let server: Keyturn
let token: string
beforeAll(async () => {
  server = await startKeyturnInProcess()
  token = await requestToken(await server.admin())
})
afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
})

/** A client without any schema. It must not find that of the checkout. */
async function bufCurl(...args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const buf = spawn(process.execPath, [BUF, 'curl', '--protocol', 'grpc', '--http2-prior-knowledge', ...args], {
    cwd: server.dataDir,
    env: { PATH: process.env.PATH, HOME: server.dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(buf.stdout), text(buf.stderr), once(buf, 'close')])
  return { code, stdout, stderr }
}

describe.each(['grpc-v1', 'grpc-v1alpha'])('a tool that has no schema and asks for %s', (version) => {
  const curl = (...args: readonly string[]) => bufCurl('--reflect-protocol', version, ...args)

  it('lists the services: those that need a permission, and those that are public', async () => {
    const { stdout, stderr, code } = await curl('--list-services', server.listenUrl)
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(stdout.trimEnd().split('\n')).toEqual([...SERVICES.map(({ typeName }) => typeName), ...PUBLIC].sort())
  })

  it('calls a method', async () => {
    const url = `${server.listenUrl}/iam.webkey.v2beta.WebKeyService/ListWebKeys`
    const { stdout, stderr, code } = await curl('-H', `Authorization: Bearer ${token}`, url)
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(JSON.parse(stdout)).toMatchObject({ webKeys: [{ state: 'STATE_ACTIVE' }] })
  })
})
