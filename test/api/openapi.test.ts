import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'

interface Description {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, object>>
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>
}

let server: Keyturn
let withoutBeta: Keyturn
beforeAll(async () => {
  server = await startKeyturnInProcess()
  withoutBeta = await startKeyturnInProcess({ env: { KEYTURN_BETA_API: 'off' } })
})
afterAll(() => removeServers(server, withoutBeta))

async function descriptionOf({ listenUrl }: Keyturn): Promise<Description> {
  return (await (await fetch(`${listenUrl}/openapi.json`)).json()) as Description
}

describe('/openapi.json', () => {
  it('describes the API in OpenAPI 3.1, at the base URL', async () => {
    const { openapi, servers, paths } = await descriptionOf(server)
    expect(openapi).toMatch(/^3\.1\./)
    expect(servers).toEqual([{ url: server.baseUrl }])
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/oauth/v2/token', '/iam.webkey.v2beta.WebKeyService/CreateWebKey']),
    )
  })

  it('is JSON that may be cached, and that any origin may read', async () => {
    const { status, headers } = await fetch(`${server.listenUrl}/openapi.json`, {
      headers: { origin: 'https://app.example' },
    })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('public, max-age=300, must-revalidate')
    expect(headers.get('access-control-allow-origin')).toBe('*')
  })

  it('has no path of the beta where that is switched off', async () => {
    const all = await descriptionOf(server)
    const { paths, tags } = await descriptionOf(withoutBeta)
    const isKept = (name: string) => !name.includes('v2beta')
    expect(Object.keys(paths)).toEqual(Object.keys(all.paths).filter(isKept))
    expect(Object.keys(paths).length).toBeGreaterThan(40)
    expect(tags.map(({ name }) => name)).toEqual(
      all.tags.map(({ name }) => name).filter((name) => name !== 'BetaWebKeyService'),
    )
  })
})
