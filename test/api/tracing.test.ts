import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, removeServers, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { webKeyClient } from '../support/web-key-client.ts'
import { type CollectedSpan, startTraceCollector, type TraceCollector } from './trace-collector.ts'

const SENDER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
const TRACEPARENT = `00-${SENDER.traceId}-${SENDER.spanId}-01`

const running: Keyturn[] = []
const collectors: TraceCollector[] = []

afterEach(async () => {
  await removeServers(...running.splice(0))
  for (const collector of collectors.splice(0)) await collector.stop()
})

async function start(env: Record<string, string>): Promise<Keyturn> {
  const server = await startKeyturnInProcess({ env })
  running.push(server)
  return server
}

async function collect(status?: number | null): Promise<TraceCollector> {
  const collector = await startTraceCollector(status)
  collectors.push(collector)
  return collector
}

/** Stops the server, so that it sends all it recorded: for so long as it takes, which may be longer than a server waits. */
async function recordedBy(server: Keyturn, collector: TraceCollector, requests: number): Promise<CollectedSpan[]> {
  await server.stop()
  return await eventually(() => {
    const spans = collector.spans()
    expect(spans.filter(({ kind }) => kind === 2).length).toBeGreaterThanOrEqual(requests)
    return spans
  })
}

function ask(server: Keyturn, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.listenUrl}/.well-known/openid-configuration/jwks`, { headers })
}

describe('a server with a collector of traces', () => {
  it('sends a span for each request, with what it waited for below', async () => {
    const collector = await collect()
    const server = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    const admin = await server.admin()
    const token = await requestToken(admin)
    await webKeyClient(server.listenUrl, token).createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    await expect(
      webKeyClient(server.listenUrl, token, 'gRPC over h2c').deleteWebKey({ keyId: 'A'.repeat(43) }),
    ).rejects.toThrow()
    await fetch(`${server.listenUrl}/made-up-by-a-client`)

    const spans = await recordedBy(server, collector, 4)
    const named = (name: string) => spans.filter((span) => span.name === name)
    const [issue] = named('POST /oauth/v2/token')
    expect(issue).toMatchObject({
      kind: 2,
      status: 0,
      parentSpanId: '',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/oauth/v2/token',
        'http.response.status_code': 200,
        'keyturn.client_id': admin.client_id,
      },
      resource: { 'service.name': 'keyturn', 'service.version': expect.stringMatching(/^\d+\.\d+/) },
    })
    expect(named('Signer.sign')).toEqual([
      expect.objectContaining({ kind: 1, traceId: issue?.traceId, parentSpanId: issue?.spanId }),
    ])

    const [create] = named('POST /iam.webkey.v2beta.WebKeyService/CreateWebKey')
    expect(create?.attributes).toMatchObject({
      'rpc.system.name': 'connectrpc',
      'rpc.method': 'iam.webkey.v2beta.WebKeyService/CreateWebKey',
    })
    const below = spans.filter(({ parentSpanId }) => parentSpanId === create?.spanId).map(({ name }) => name)
    expect(below).toEqual(expect.arrayContaining(['KeyPairGenerator.generate', 'KeyStore.update']))

    const [refused] = named('POST /iam.webkey.v2beta.WebKeyService/DeleteWebKey')
    expect(refused).toMatchObject({
      status: 0,
      attributes: { 'rpc.system.name': 'grpc', 'error.type': 'WEB_KEY_NOT_FOUND', 'http.response.status_code': 200 },
    })

    expect(named('GET other')).toHaveLength(1)
    // Nothing else has a trace of its own: following the database, for example, has none.
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === '')
    // A token, two calls, and a path that is none.
    expect(roots).toHaveLength(4)
    expect(roots.every(({ kind }) => kind === 2)).toBe(true)
    const sent = collector.bodies.join()
    for (const secret of [admin.client_secret, token, 'made-up-by-a-client', '127.0.0.1']) {
      expect(sent).not.toContain(secret)
    }
  })

  it('continues the trace of the sender, and says in the answer where to look', async () => {
    const collector = await collect()
    const server = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    const answer = await ask(server, { traceparent: TRACEPARENT, tracestate: 'vendor=opaque' })
    const broken = await ask(server, { traceparent: `00-${'0'.repeat(32)}-${SENDER.spanId}-01` })

    // A span ends when its response has closed.
    const spans = await recordedBy(server, collector, 2)
    expect(spans).toHaveLength(2)
    const span = spans.find(({ traceId }) => traceId === SENDER.traceId)
    const other = spans.find(({ traceId }) => traceId !== SENDER.traceId)
    expect(span).toMatchObject({
      traceId: SENDER.traceId,
      parentSpanId: SENDER.spanId,
      traceState: 'vendor=opaque',
    })
    expect(answer.headers.get('traceresponse')).toBe(`00-${SENDER.traceId}-${span?.spanId}-01`)
    expect(other?.parentSpanId).toBe('')
    expect(broken.headers.get('traceresponse')).toBe(`00-${other?.traceId}-${other?.spanId}-01`)
  })

  it('serves on, warns once and stops cleanly when the collector takes nothing', async () => {
    const collector = await collect(400)
    const server = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    // More than a batch, so that it is sent at once, and twice.
    for (let i = 0; i < 11; i++) await Promise.all(Array.from({ length: 100 }, () => ask(server)))
    await eventually(() => expect(collector.bodies.length).toBeGreaterThanOrEqual(2))
    expect((await ask(server)).status).toBe(200)
    await server.stop()
    expect(server.output().stderr.match(/traces could not be sent to the collector/g)).toHaveLength(1)
  })
})
