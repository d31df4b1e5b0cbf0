import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DEFAULT_LIMITS } from '../../../../src/http/connections/limits.ts'
import { consolePageRoutes, readBuiltConsole } from '../../../../src/http/console/console-page.ts'
import { type Listener, listen } from '../../../../src/http/listener.ts'
import { createAddressReader } from '../../../../src/http/requests/client-address.ts'
import { RequestContexts } from '../../../../src/http/requests/request-context.ts'
import { createRouter, notFound } from '../../../../src/http/requests/router.ts'
import { createRecordingLog } from '../../../support/log.ts'

const PAGE = '<!doctype html><title>Keyturn</title>'
const SCRIPT = `export const words = ${JSON.stringify('rotation '.repeat(200))}`
const PIXELS = Buffer.alloc(2000, 1)

let folder: string
const listeners: Listener[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyturn-console-'))
  await mkdir(join(folder, 'built/assets'), { recursive: true })
  await writeFile(join(folder, 'built/index.html'), PAGE)
  await writeFile(join(folder, 'built/assets/main-a1.js'), SCRIPT)
  await writeFile(join(folder, 'built/assets/logo-b2.png'), PIXELS)
})
afterAll(async () => {
  await Promise.all(listeners.map((listener) => listener.close(0)))
  await rm(folder, { recursive: true })
})

async function serve(name: string): Promise<string> {
  const log = createRecordingLog()
  const handler = createRouter({
    routes: new Map(consolePageRoutes(await readBuiltConsole(join(folder, name)))),
    fallback: notFound,
    maxBodyBytes: 100,
    log,
    contexts: new RequestContexts(createAddressReader([])),
    onAnswered: () => {},
  })
  const listener = await listen({ host: '127.0.0.1', port: 0, tls: null, limits: DEFAULT_LIMITS, log, handler })
  listeners.push(listener)
  return listener.url
}

/** As it is sent, which `fetch` does not show. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      )
    })
    sent.once('error', reject).end()
  })
}

describe('the page of the console', () => {
  let url: string
  beforeAll(async () => {
    url = await serve('built')
  })

  it('is asked for again each time, and sent only when it has changed', async () => {
    const { status, headers, body } = await get(`${url}/console/?a=b`)
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: PAGE })
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', 'content-type': 'text/html; charset=utf-8' })
    const etag = String(headers.etag)
    expect(await get(`${url}/console/`, { 'if-none-match': `"other", W/${etag}` })).toMatchObject({ status: 304 })
    expect(await get(`${url}/console/`, { 'if-none-match': '"other"' })).toMatchObject({ status: 200 })
  })

  it.each([
    ['gzip', 'deflate, gzip, br', 'gzip', gunzipSync],
    ['nothing', 'br, gzip ;q=0.0, identity', undefined, (body: Buffer) => body],
    ['nothing without being asked', undefined, undefined, (body: Buffer) => body],
  ])('has files that may be kept for a year, compressed with %s', async (_, accepted, coding, decode) => {
    const path = `${url}/console/assets/main-a1.js`
    const { status, headers, body } = await get(path, accepted === undefined ? {} : { 'accept-encoding': accepted })
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': String(body.length),
      vary: 'accept-encoding',
    })
    expect(headers['content-encoding']).toBe(coding)
    expect(decode(body).toString()).toBe(SCRIPT)
  })
})

describe('a console that is not built', () => {
  it('says how to build it', async () => {
    const { status, body } = await get(`${await serve('none')}/console/`)
    expect({ status, body: body.toString() }).toEqual({ status: 404, body: expect.stringContaining('build:console') })
  })
})
