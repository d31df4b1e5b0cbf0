import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SERVICES } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { openReflection } from '../support/grpc-reflection.ts'
import { type Keyturn, removeFolder, startKeyturnInProcess } from '../support/keyturn.ts'
import { requestToken } from '../support/web-key-client.ts'

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

  it('reads the details of errors', async () => {
    const url = `${server.listenUrl}/iam.webkey.v2beta.WebKeyService/ListWebKeys`
    const { stderr, code } = await curl(url)
    expect(code).not.toBe(0)
    expect(JSON.parse(stderr)).toMatchObject({ code: 'unauthenticated', details: [{ type: 'google.rpc.ErrorInfo' }] })
  })

  it('asks for the health', async () => {
    const { stdout } = await curl(`${server.listenUrl}/grpc.health.v1.Health/Check`)
    expect(JSON.parse(stdout)).toEqual({ status: 'SERVING' })
  })
})

describe('a reflection stream', () => {
  it('answers while it is open, goes on after a refusal, and ends with its client', async () => {
    const { ask, responses, ended, end } = openReflection(server.listenUrl)
    ask('no.Thing')
    await eventually(() => expect(responses).toHaveLength(1))
    ask('iam.webkey.v2beta.WebKey')
    await eventually(() => expect(responses).toHaveLength(2))
    end()
    expect(await ended).toMatchObject({ code: status.OK })
    expect(responses.map(({ messageResponse }) => messageResponse.case)).toEqual([
      'errorResponse',
      'fileDescriptorResponse',
    ])
  })

  it('with a request that does not decode is invalid', async () => {
    const { send, ended } = openReflection(server.listenUrl)
    send(Uint8Array.from([0x0a, 0xff, 0xff]))
    expect(await ended).toMatchObject({ code: status.INVALID_ARGUMENT })
  })

  it('that its client keeps open does not hold up a server that stops', async () => {
    const stopping = await startKeyturnInProcess()
    const { ask, responses, ended } = openReflection(stopping.listenUrl)
    ask('iam.webkey.v2beta.WebKey')
    await eventually(() => expect(responses).toHaveLength(1))

    await stopping.stop()
    expect(await ended).toMatchObject({ code: status.UNAVAILABLE, details: 'the server is stopping' })
    await removeFolder(stopping.dataDir)
  })
})
