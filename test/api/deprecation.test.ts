import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { WebKeyService } from '../../gen/iam/webkey/v2/web_key_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess } from '../support/keyturn.ts'
import { parsePrometheusText } from '../support/prometheus-text.ts'
import { clientOf, type TransportName } from '../support/web-key-client.ts'

const BETA = 'iam.webkey.v2beta.WebKeyService'
const V2 = 'iam.webkey.v2.WebKeyService'

/** What RFC 9745, RFC 8594 and RFC 5829 want, for the method of the same name. */
const announced = (method: string) => ({
  deprecation: expect.stringMatching(/^@\d{10}$/),
  sunset: expect.stringMatching(/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/),
  link: `</${V2}/${method}>; rel="successor-version"`,
})

function announcementOf(headers: Headers) {
  const [deprecation, sunset, link] = ['deprecation', 'sunset', 'link'].map((name) => headers.get(name))
  return { deprecation, sunset, link }
}

let server: Keyturn
/** One that has the beta service switched off. */
let off: Keyturn
let metricsAddress: string
let token: string
beforeAll(async () => {
  metricsAddress = `127.0.0.1:${await freePort()}`
  server = await startKeyturnInProcess({ env: { KEYTURN_METRICS_LISTEN: metricsAddress } })
  off = await startKeyturnInProcess({ env: { KEYTURN_BETA_API: 'off' } })
  token = await requestToken(await server.admin())
})
// Together: a refused call over HTTP/2 leaves a stream open, which stopping waits for.
afterAll(() =>
  Promise.all(
    [server, off].map(async (started) => {
      await started?.stop()
      if (started !== undefined) await removeFolder(started.dataDir)
    }),
  ),
)

async function headersOf(call: (onHeader: (headers: Headers) => void) => Promise<unknown>): Promise<Headers> {
  let seen = new Headers()
  await call((headers) => {
    seen = headers
  })
  return seen
}

/** The metadata of an error, in which clients find the headers of the answer. */
async function metadataOf(call: Promise<unknown>): Promise<Headers> {
  return call.then(
    () => {
      throw new Error('the call was not refused')
    },
    (reason: unknown) => ConnectError.from(reason).metadata,
  )
}

describe('the beta service', () => {
  it.each<TransportName>(['gRPC over h2c', 'Connect with JSON over HTTP/1.1'])(
    'says in every answer that it is deprecated, until when, and what comes next, over %s',
    async (transport) => {
      const client = clientOf(BetaWebKeyService, server.listenUrl, { token, transport })
      const granted = await headersOf((onHeader) => client.listWebKeys({}, { onHeader }))
      expect(announcementOf(granted)).toEqual(announced('ListWebKeys'))
      expect(announcementOf(await metadataOf(client.deleteWebKey({ keyId: 'nothing' })))).toEqual(
        announced('DeleteWebKey'),
      )
      const stranger = clientOf(BetaWebKeyService, server.listenUrl, { token: null, transport })
      expect(announcementOf(await metadataOf(stranger.activateWebKey({ keyId: 'a' })))).toEqual(
        announced('ActivateWebKey'),
      )
    },
  )

  it('shows up in the metrics by method, and in the log with its callers', async () => {
    const client = clientOf(BetaWebKeyService, server.listenUrl, {
      token,
      transport: 'Connect with JSON over HTTP/1.1',
    })
    const clientId = (await server.admin()).client_id.split('@')[0]!
    const route = `/${BETA}/CreateWebKey`
    const calls = async () => {
      const families = parsePrometheusText(await (await fetch(`http://${metricsAddress}/metrics`)).text())
      const { samples = [] } = families.get('keyturn_request_duration_seconds') ?? {}
      const counts = samples.filter(({ name, labels }) => name.endsWith('_count') && labels.route === route)
      return counts.map(({ labels, value }) => [labels.status, value])
    }
    expect(await calls()).toEqual([])
    await client.createWebKey({ config: { config: { case: 'ed25519', value: {} } } })
    await client.createWebKey({}).catch(() => {})
    // The log is written a few milliseconds late.
    await eventually(() => {
      const lines = server.output().stderr.split('\n').slice(0, -1)
      const logged = lines.map((line) => JSON.parse(line)).filter((line) => line.route === route)
      expect(logged).toEqual([200, 400].map((status) => expect.objectContaining({ msg: 'request', clientId, status })))
    })
    expect(await calls()).toEqual([
      ['200', 1],
      ['400', 1],
    ])
  })
})

describe('the beta service when it is switched off', () => {
  let offToken: string
  beforeAll(async () => {
    offToken = await requestToken(await off.admin())
  })

  it.each<TransportName>(['gRPC over h2c', 'Connect with JSON over HTTP/1.1'])(
    'answers with "unimplemented" and the name of its successor over %s',
    async (transport) => {
      for (const who of [offToken, null]) {
        const client = clientOf(BetaWebKeyService, off.listenUrl, { token: who, transport })
        const error = await client.listWebKeys({}).then(
          () => undefined,
          (reason: unknown) => ConnectError.from(reason),
        )
        expect(error).toMatchObject({
          code: Code.Unimplemented,
          rawMessage: `this service is switched off: call ${V2} instead`,
        })
        expect(error?.findDetails(ErrorInfoSchema)[0]).toMatchObject({
          reason: 'SERVICE_SWITCHED_OFF',
          metadata: { successor: V2 },
        })
        expect(announcementOf(error!.metadata)).toEqual(announced('ListWebKeys'))
      }
      const successor = clientOf(WebKeyService, off.listenUrl, { token: offToken, transport })
      expect((await successor.listWebKeys({})).webKeys).toHaveLength(1)
    },
  )
})
