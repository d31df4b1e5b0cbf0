/**
 * Client secrets that are handed over to a real kube-apiserver by kubectl.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { GO_PROGRAMS_ENV } from '../support/go-programs.ts'
import { runKeyturnInProcess } from '../support/keyturn.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { describeUnless } from '../support/unless.ts'
import { requestToken } from '../support/web-key-client.ts'
import { type Cluster, NO_KUBERNETES, startCluster } from './kube-apiserver.ts'

describeUnless(NO_KUBERNETES)('a client secret into a Secret of Kubernetes', () => {
  let cluster: Cluster
  let terminal: Terminal

  beforeAll(async () => {
    ;[cluster, terminal] = await Promise.all([startCluster(), openTerminal()])
    await cluster.kubectl('create', 'namespace', 'shop')
  })
  afterAll(async () => {
    await terminal?.close()
    await cluster?.stop()
  })

  /** Applies a user whose secret goes into `into`. */
  async function apply(user: string, into: string) {
    const { dataDir } = terminal.server
    const path = join(dataDir, `${user}.yaml`)
    const document = `kind: ServiceUser\nproject: shop\nname: ${user}\ngenerateSecret: { into: "${into}" }\n`
    await writeFile(path, `kind: Project\nname: shop\n---\n${document}`)
    const env = { ...GO_PROGRAMS_ENV, ...cluster.env, KEYTURN_DATA_DIR: dataDir } as Record<string, string>
    return await runKeyturnInProcess(['apply', '-f', path], env)
  }

  it('works, is copied into no annotation, and is handed over once', async () => {
    const into = 'kubernetes://shop/checkout'
    expect(await apply('checkout', into)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('handed over'),
      stderr: '',
    })
    const secret = JSON.parse(
      await cluster.kubectl('get', 'secret', 'checkout', '--namespace', 'shop', '--output', 'json'),
    )
    expect(secret.type).toBe('Opaque')
    expect(secret.metadata.annotations).toBeUndefined()
    expect(Object.keys(secret.data)).toEqual(['client_id', 'client_secret'])
    const [client_id = '', client_secret = ''] = ['client_id', 'client_secret'].map((key) =>
      Buffer.from(secret.data[key], 'base64').toString(),
    )
    const { token_endpoint, base_url } = await terminal.server.admin()
    expect(await requestToken({ token_endpoint, base_url, client_id, client_secret }, 'openid')).not.toBe('')
    expect(await apply('checkout', into)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^no difference/),
      stderr: '',
    })
  })

  it('replaces no Secret', async () => {
    await cluster.kubectl('create', 'secret', 'generic', 'theirs', '--namespace', 'shop', '--from-literal', 'key=value')
    const refused = await apply('stock', 'kubernetes://shop/theirs')
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is something already, which is not replaced'),
    })
    expect(
      await cluster.kubectl('get', 'secret', 'theirs', '--namespace', 'shop', '--output', 'jsonpath={.data}'),
    ).toBe('{"key":"dmFsdWU="}')
  })

  it('is deleted again if there is no such namespace', async () => {
    const { code, stderr } = await apply('orders', 'kubernetes://nowhere/orders')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /namespaces "nowhere" not found; make the namespace first: kubectl create namespace nowhere; the secret was deleted again\n$/,
      ),
    })
    expect(await terminal.json('secrets', 'list', 'orders@shop')).toEqual({})
  })
})
