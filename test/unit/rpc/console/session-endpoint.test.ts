import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { sessionEndpoint } from '../../../../src/rpc/console/session-endpoint.ts'
import { createRecordingLog } from '../../../support/log.ts'

const failing = () => Promise.reject(new TypeError('a mistake'))

describe('signing in at the console', () => {
  it('records an unexpected error as such', async () => {
    const refusals: string[] = []
    const { GET } = sessionEndpoint({
      sessions: { open: failing, signOut: failing },
      access: { authenticate: failing },
      baseUrl: 'http://localhost:8080',
      tokenLifetimeSeconds: 3600,
      signInPath: null,
      requestContext: { addressOf: () => '', identified: () => {}, refused: (_, reason) => refusals.push(reason) },
      log: createRecordingLog(),
    })
    const server = createServer((req, res) => void GET(req, res, {} as never)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    expect(response.status).toBe(500)
    expect(refusals).toEqual(['INTERNAL'])
    server.close()
  })
})
