/**
 * A cluster of Kubernetes as far as tokens of service accounts need one: kube-apiserver and etcd. There is no kubelet, so the test asks for
 * tokens itself, by the same TokenRequest API. CONTRIBUTING.md says how to build the programs.
 */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'
import { GO_PROGRAMS_ENV, missingGoPrograms } from '../support/go-programs.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { type Daemon, startDaemon } from './daemon.ts'

const run = promisify(execFile)

/** Why there is no cluster; undefined if there can be one. */
export const NO_KUBERNETES = missingGoPrograms('etcd', 'kube-apiserver', 'kubectl')

/** A certificate for loopback addresses, which is its own authority. */
const CERTIFICATE = join(import.meta.dirname, '../support/tls/first.cert.pem')
const CERTIFICATE_KEY = join(import.meta.dirname, '../support/tls/first.key.pem')

const ADMIN_TOKEN = 'kubernetes-admin'

/** A running cluster. */
export interface Cluster {
  /** The variables with which kubectl is its administrator. */
  readonly env: Readonly<Record<string, string>>
  /** Where kube-apiserver listens. */
  readonly url: string
  /** What it signs tokens in the name of. */
  readonly issuer: string
  /** Runs kubectl and returns what it prints. */
  kubectl(...args: string[]): Promise<string>
  /** A token of a service account in a namespace, by the TokenRequest API. */
  requestToken(serviceAccount: string, namespace: string, ...more: string[]): Promise<string>
  /** Restarts kube-apiserver with these keys: RSA and EC. All are published, and the first one signs. */
  restartWithKeys(...names: ('first' | 'second')[]): Promise<void>
  stop(): Promise<void>
}

/** Starts a cluster in which the key `first` signs. */
export async function startCluster(): Promise<Cluster> {
  const folder = await temporaryFolder()
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const url = `https://127.0.0.1:${port}`
  const issuer = 'https://kubernetes.default.svc.cluster.local'
  let etcd: Daemon | undefined
  let apiServer: Daemon | undefined
  const stop = async () => {
    await apiServer?.stop()
    await etcd?.stop()
    await removeFolder(folder)
  }
  const env = { KUBECONFIG: join(folder, 'kubeconfig') }
  const kubectl = async (...args: string[]) =>
    (await run('kubectl', args, { env: { ...GO_PROGRAMS_ENV, ...env } })).stdout

  const startApiServer = async ([signing = '', ...published]: readonly string[]) => {
    const keyFile = (name: string) => join(folder, `${name}.pem`)
    apiServer = await startDaemon(
      [
        'kube-apiserver',
        `--etcd-servers=http://127.0.0.1:${etcdPort}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        `--tls-cert-file=${CERTIFICATE}`,
        `--tls-private-key-file=${CERTIFICATE_KEY}`,
        `--token-auth-file=${join(folder, 'tokens.csv')}`,
        '--authorization-mode=RBAC',
        '--service-cluster-ip-range=10.0.0.0/24',
        `--service-account-issuer=${issuer}`,
        `--service-account-signing-key-file=${keyFile(signing)}`,
        ...[signing, ...published].map((name) => `--service-account-key-file=${keyFile(name)}`),
      ],
      () => kubectl('get', '--raw', '/readyz'),
    )
  }

  try {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    await writeFile(join(folder, 'first.pem'), rsa.export({ format: 'pem', type: 'pkcs1' }))
    await writeFile(join(folder, 'second.pem'), ec.export({ format: 'pem', type: 'sec1' }))
    await writeFile(join(folder, 'tokens.csv'), `${ADMIN_TOKEN},admin,admin,system:masters\n`)
    await writeFile(env.KUBECONFIG, JSON.stringify(kubeconfig(url)))
    const [client, peer] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`]
    etcd = await startDaemon(
      [
        'etcd',
        `--data-dir=${join(folder, 'etcd')}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
        '--unsafe-no-fsync',
      ],
      async () => {
        const response = await fetch(`${client}/readyz`)
        if (!response.ok) throw new Error(await response.text())
      },
    )
    await startApiServer(['first'])
  } catch (error) {
    await stop()
    throw error
  }

  return {
    env,
    url,
    issuer,
    kubectl,
    requestToken: async (serviceAccount, namespace, ...more) =>
      (await kubectl('create', 'token', serviceAccount, '--namespace', namespace, ...more)).trim(),
    restartWithKeys: async (...names) => {
      await apiServer?.stop()
      await startApiServer(names)
    },
    stop,
  }
}

function kubeconfig(server: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': CERTIFICATE } }],
    users: [{ name: 'admin', user: { token: ADMIN_TOKEN } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  }
}
