/**
 * Tokens of service accounts by a real kube-apiserver, through a rotation of its keys.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { blocksOf } from '../support/federation-page.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { describeUnless } from '../support/unless.ts'
import { CERTIFICATE } from './certificate.ts'
import { type Cluster, NO_KUBERNETES, startCluster } from './kube-apiserver.ts'
import { runSection } from './page-commands.ts'
import { exchange } from './token-exchange.ts'

const run = promisify(execFile)

const REFUSED = { status: 401, error: 'invalid_client' }

if (NO_KUBERNETES !== undefined) process.stderr.write(`Skipped Kubernetes: ${NO_KUBERNETES}\n`)

describeUnless(NO_KUBERNETES)('a token of a service account of Kubernetes', () => {
  let cluster: Cluster
  let terminal: Terminal
  let clientId: string
  let folder: string

  beforeAll(async () => {
    ;[cluster, terminal] = await Promise.all([
      startCluster(),
      openTerminal({ env: { KEYTURN_ISSUER_NETWORKS: '127.0.0.1, ::1' } }),
    ])
    for (const namespace of ['shop', 'other']) {
      await cluster.kubectl('create', 'namespace', namespace)
      await cluster.kubectl('create', 'serviceaccount', 'checkout', '--namespace', namespace)
    }
    await cluster.kubectl('create', 'serviceaccount', 'worker', '--namespace', 'shop')
    await terminal.lines('projects', 'create', 'shop')
    clientId = await addUser('checkout')
    folder = join(terminal.server.dataDir, 'page')
    await mkdir(folder)
  })
  afterAll(async () => {
    await terminal?.close()
    await cluster?.stop()
  })

  async function addUser(name: string): Promise<string> {
    return (await terminal.lines('users', 'create', name, '--project', 'shop'))[0]!.replace('created ', '')
  }

  const identify = (user: string, ...options: string[]) =>
    terminal.lines('federation', 'identities', 'add', user, '--issuer', cluster.issuer, ...options)

  /** A command for the cluster as an issuer. */
  const issuers = (command: string, ...args: string[]) =>
    terminal.run('federation', 'issuers', command, cluster.issuer, ...args)

  /** A token with the audience of Keyturn. */
  const tokenOf = (serviceAccount = 'checkout', namespace = 'shop', ...more: string[]) =>
    cluster.requestToken(serviceAccount, namespace, '--audience', terminal.server.baseUrl, ...more)

  const send = (jwt: string, client?: string) => exchange(terminal.server, { jwt, clientId: client })

  it('is accepted after the commands of the page, which let Keyturn fetch the keys of the cluster', async () => {
    const anonymously = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', CERTIFICATE]
    const status = async () => (await run('curl', [...anonymously, `${cluster.issuer}/openid/v1/jwks`])).stdout
    expect(await status()).toBe('403')
    const printed = await runSection('Kubernetes', {
      folder,
      dataDir: terminal.server.dataDir,
      instead: {
        'https://kubernetes.default.svc.cluster.local': cluster.issuer,
        'https://api.cluster.example:6443': cluster.issuer,
        'cluster-ca.pem': CERTIFICATE,
        'https://tokens.example.com': terminal.server.baseUrl,
        'checkout@shop': clientId,
      },
      env: cluster.env,
    })
    expect(printed.split('\n')[0]).toBe(cluster.issuer)
    expect(printed).toMatch(/^accepted, by the federated identity \S+$/m)
    expect(printed).toMatch(/^fetched: \S+$/m)
    expect(await status()).toBe('200')
  })

  it('gets a token, with client_id and without', async () => {
    const jwt = await tokenOf()
    for (const client of [clientId, undefined])
      expect(await send(jwt, client)).toMatchObject({ status: 200, claims: { client_id: clientId } })
  })

  it('gets none for another service account or namespace, or with another audience', async () => {
    const { baseUrl } = terminal.server
    for (const jwt of [
      await tokenOf('worker'),
      await tokenOf('checkout', 'other'),
      await cluster.requestToken('checkout', 'shop'),
      await cluster.requestToken('checkout', 'shop', '--audience', 'https://vault.example'),
      await cluster.requestToken('checkout', 'shop', '--audience', baseUrl, '--audience', 'https://vault.example'),
    ])
      for (const client of [clientId, undefined]) expect(await send(jwt, client)).toEqual(REFUSED)
  })

  it('is held by claims to its pod, which is that of the page', async () => {
    const manifest = join(folder, 'pod.yaml')
    await writeFile(manifest, blocksOf('Kubernetes', 'yaml').join('---\n'))
    await cluster.kubectl('apply', '--filename', manifest)
    const ofPod = await tokenOf('checkout', 'shop', '--bound-object-kind', 'Pod', '--bound-object-name', 'checkout')
    const kubernetes = decodeJwt(ofPod)['kubernetes.io'] as { serviceaccount: { uid: string } }
    expect(kubernetes).toMatchObject({ namespace: 'shop', pod: { name: 'checkout' } })

    const user = await addUser('pod')
    await identify(
      ...([user, '--subject', 'system:serviceaccount:shop:checkout'] as const),
      ...['--claim', '/kubernetes.io/pod/name=checkout'],
      ...['--claim', `/kubernetes.io/serviceaccount/uid=${kubernetes.serviceaccount.uid}`],
    )
    expect(await send(ofPod, user)).toMatchObject({ status: 200, claims: { client_id: user } })
    expect(await send(await tokenOf(), user)).toEqual(REFUSED)
  })

  it('of a service account that was made anew has another uid', async () => {
    const { serviceaccount } = decodeJwt(await tokenOf('worker'))['kubernetes.io'] as {
      serviceaccount: { uid: string }
    }
    const user = await addUser('worker')
    await identify(
      ...([user, '--subject', 'system:serviceaccount:shop:worker'] as const),
      ...['--claim', `/kubernetes.io/serviceaccount/uid=${serviceaccount.uid}`],
    )
    expect(await send(await tokenOf('worker'))).toMatchObject({ status: 200 })
    await cluster.kubectl('delete', 'serviceaccount', 'worker', '--namespace', 'shop')
    await cluster.kubectl('create', 'serviceaccount', 'worker', '--namespace', 'shop')
    expect(await send(await tokenOf('worker'), user)).toEqual(REFUSED)
  })

  it('is accepted through a rotation of the keys, until its key is published no longer', async () => {
    const before = await tokenOf()
    await cluster.restartWithKeys('second', 'first')
    const after = await tokenOf()
    expect([before, after].map((jwt) => decodeProtectedHeader(jwt).alg)).toEqual(['RS256', 'ES256'])
    expect(await issuers('refresh')).toMatchObject({ code: 0, stderr: '' })
    for (const jwt of [before, after]) expect(await send(jwt, clientId)).toMatchObject({ status: 200 })

    await cluster.restartWithKeys('second')
    expect(await issuers('refresh')).toMatchObject({ code: 0, stderr: '' })
    expect(await send(before, clientId)).toEqual(REFUSED)
    expect(await send(after, clientId)).toMatchObject({ status: 200 })
  })
})
