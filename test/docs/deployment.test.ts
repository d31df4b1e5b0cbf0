import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse, parseAllDocuments } from 'yaml'
import { ConfigError } from '../../src/config/config.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { STOP_LIMIT } from '../../src/server/stop-limit.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
/** How long a server serves on after SIGTERM by default, in milliseconds. */
const DRAIN = readConfig({}, {}).drainSeconds * 1000

interface Compose {
  services: Record<
    string,
    {
      environment: Record<string, string>
      user?: string
      ports?: string[]
      volumes?: string[]
      secrets?: string[]
      stop_signal?: string
      stop_grace_period?: string
      healthcheck?: unknown
      depends_on?: Record<string, unknown>
    }
  >
  networks: { default: { ipam: { config: { subnet: string }[] } } }
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
}

describe('docker-compose.yml', () => {
  const compose = parse(read('docker-compose.yml')) as Compose
  const { postgres, 'keyturn-1': one, 'keyturn-2': two, 'load-balancer': balancer } = compose.services

  it('configures two equal replicas with variables that exist and values that are valid', () => {
    const environment = Object.fromEntries(
      Object.entries(one!.environment).map(([name, value]) => [name, value.replace(/\$\{POSTGRES_PASSWORD\}/, 'x')]),
    )
    expect(() => readConfig({}, environment)).not.toThrow(ConfigError)
    expect(readConfig({}, environment)).toMatchObject({
      listen: { port: 8080 },
      baseUrl: 'http://localhost:8080',
      database: { kind: 'postgres' },
      masterKeys: { kind: 'file', path: '/run/secrets/master-keys' },
      credentialsFile: '/data/admin.json',
      initialCredentialsFile: '/run/secrets/admin.json',
      trustedProxies: [compose.networks.default.ipam.config[0]!.subnet],
    })
    expect(two).toEqual(one)
  })

  it('has the replicas that deploy/prometheus scrapes, with their metrics where it looks', () => {
    const { scrape_configs } = parse(read('deploy/prometheus/prometheus.yml')) as {
      scrape_configs: { static_configs: { targets: string[] }[] }[]
    }
    const scraped = scrape_configs.flatMap(({ static_configs }) => static_configs.flatMap(({ targets }) => targets))
    const replicas = Object.entries(compose.services).filter(([, { environment }]) => 'KEYTURN_LISTEN' in environment)
    const served = replicas.map(([name, { environment }]) => {
      const metricsListen = readConfig({}, { KEYTURN_METRICS_LISTEN: environment.KEYTURN_METRICS_LISTEN }).metricsListen
      // On a loopback address nobody else in the network could reach it.
      expect(metricsListen).toMatchObject({ host: '0.0.0.0' })
      return `${name}:${metricsListen?.port}`
    })
    expect(served.sort()).toEqual(scraped.sort())
  })

  it('runs the replicas as another user than root, with files that they cannot change, after a healthy PostgreSQL', () => {
    expect(one).toMatchObject({
      user: 'node',
      read_only: true,
      depends_on: { postgres: { condition: 'service_healthy' } },
    })
    expect(postgres).toHaveProperty('healthcheck.test')
  })

  it('shows only the load balancer, which has the configuration in deploy/ and all that this asks for', () => {
    const published = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined)
    expect(published).toEqual([['load-balancer', balancer]])
    expect(balancer!.ports).toEqual(['127.0.0.1:8080:8080'])
    expect(balancer!.volumes).toEqual(['./deploy/haproxy/haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro'])
    const variables = [...read('deploy/haproxy/haproxy.cfg').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
    expect(Object.keys(balancer!.environment).sort()).toEqual(variables.sort())
    expect(balancer!.environment).toEqual({ LISTEN: ':8080', KEYTURN_1: 'keyturn-1:8080', KEYTURN_2: 'keyturn-2:8080' })
    expect(balancer!.stop_signal).toBe('SIGUSR1')
  })

  it('gives every replica longer to stop than it may take', () => {
    expect(Number.parseInt(one!.stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(DRAIN + STOP_LIMIT)
  })

  it('mounts secrets and volumes that it declares, and keeps the secret files out of git and of the image', () => {
    expect(compose).toMatchObject({
      secrets: { 'master-keys': { file: './master-keys' }, 'admin.json': { file: './admin.json' } },
      volumes: { data: null, postgres: null },
    })
    expect(one!.secrets).toEqual(Object.keys(compose.secrets))
    expect(read('.gitignore')).toMatch(/^master-keys\n\/admin\.json$/m)
    const written = globSync('docs/**/*.md', { cwd: ROOT }).flatMap(
      (page) => read(page).match(/(?<= --out )\S+/g) ?? [],
    )
    expect(written.filter((file) => !file.endsWith('.secret.json'))).toEqual([])
    expect(read('.gitignore')).toContain('\n*.secret.json\n')
    expect(read('.dockerignore').split('\n')[0]).toBe('*')
  })
})

describe('the Kubernetes manifests', () => {
  const FOLDER = 'deploy/kubernetes'
  const objects = readdirSync(join(ROOT, FOLDER))
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => parseAllDocuments(read(join(FOLDER, name))))
    .map((document) => {
      expect(document.errors).toEqual([])
      return document.toJS() as Manifest
    })
  const one = (kind: string, name = 'keyturn') => {
    const found = objects.filter((object) => object.kind === kind && object.metadata.name === name)
    expect(found).toHaveLength(1)
    return found[0]!
  }
  const pod = one('Deployment').spec.template.spec
  const [container] = pod.containers
  const { KEYTURN_DATABASE_URL_FILE: databaseUrlFile, ...settings } = one('ConfigMap').data
  const secret = one('Secret').stringData
  const environment = (changes: Record<string, string> = {}) => ({
    ...settings,
    KEYTURN_BASE_URL: 'https://tokens.example.com',
    KEYTURN_DATABASE_URL: 'postgres://keyturn:password@host:5432/keyturn',
    ...changes,
  })

  it('are of the kinds that are needed, all in one namespace of the operator', () => {
    expect(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort()).toEqual([
      'ConfigMap/keyturn',
      'Deployment/keyturn',
      'NetworkPolicy/keyturn',
      'PodDisruptionBudget/keyturn',
      'Secret/keyturn',
      'Service/keyturn',
      'Service/keyturn-headless',
    ])
    expect(objects.filter(({ metadata }) => metadata.namespace !== undefined)).toEqual([])
  })

  it('configure the server with variables that exist and, once they are filled in, are valid', () => {
    const { listen, metricsListen, masterKeys, credentialsFile, initialCredentialsFile } = readConfig({}, environment())
    expect(listen).toEqual({ host: '0.0.0.0', port: portOf('http') })
    expect(metricsListen).toEqual({ host: '0.0.0.0', port: portOf('metrics') })
    expect(container!.envFrom).toEqual([{ configMapRef: { name: 'keyturn' } }])
    const mounts = Object.fromEntries(container!.volumeMounts.map(({ name, mountPath }) => [name, mountPath]))
    expect(databaseUrlFile).toBe(`${mounts.secrets}/database-url`)
    expect(masterKeys).toEqual({ kind: 'file', path: `${mounts.secrets}/master-keys` })
    expect(initialCredentialsFile).toBe(`${mounts.secrets}/admin.json`)
    expect(pod.volumes).toContainEqual({
      name: 'secrets',
      secret: expect.objectContaining({
        secretName: 'keyturn',
        items: ['database-url', 'master-keys', 'admin.json'].map((key) => ({ key, path: key })),
      }),
    })
    expect(credentialsFile).toBe(`${mounts.data}/admin.json`)
  })

  it('have placeholders that the server refuses', () => {
    const problems = (changes: Record<string, string>) => {
      try {
        readConfig({}, environment(changes))
        return []
      } catch (error) {
        return (error as ConfigError).problems
      }
    }
    expect(problems({ KEYTURN_BASE_URL: settings.KEYTURN_BASE_URL! })).toEqual([expect.stringMatching(/BASE_URL/)])
    expect(problems({ KEYTURN_DATABASE_URL: secret['database-url']! })).toEqual([expect.stringMatching(/DATABASE_URL/)])
    expect(() => parseMasterKeys(secret['master-keys']!)).toThrow()
    expect(() => JSON.parse(secret['admin.json']!)).toThrow()
    expect(Object.keys(secret).sort()).toEqual(['admin.json', 'database-url', 'master-keys'])
  })

  it('let no variable of Kubernetes be taken for a setting', () => {
    expect(() => readConfig({}, environment({ KEYTURN_PORT: 'tcp://10.0.0.1:8080' }))).toThrow(/KEYTURN_PORT/)
    expect(pod.enableServiceLinks).toBe(false)
  })

  it('admit nobody to the metrics by default', () => {
    expect(one('NetworkPolicy').spec).toMatchObject({
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port: 'http' }] }],
    })
  })

  it('select the pods by their labels', () => {
    const { labels } = one('Deployment').spec.template.metadata
    for (const selector of [
      one('Deployment').spec.selector.matchLabels,
      one('Service').spec.selector,
      one('Service', 'keyturn-headless').spec.selector,
      one('PodDisruptionBudget').spec.selector.matchLabels,
      one('NetworkPolicy').spec.podSelector?.matchLabels,
      ...pod.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels),
    ]) {
      expect(selector).toEqual(labels)
    }
  })

  it('ask for health where the server answers, and lead services there', () => {
    expect(container!.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'http' })
    expect(container!.startupProbe.httpGet).toEqual({ path: '/healthz', port: 'http' })
    expect(container!.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' })
    for (const name of ['keyturn', 'keyturn-headless']) {
      expect(one('Service', name).spec.ports).toEqual([
        { name: 'http', port: 8080, targetPort: 'http', appProtocol: 'kubernetes.io/h2c' },
      ])
    }
    expect(one('Service', 'keyturn-headless').spec.clusterIP).toBe('None')
    expect(one('Deployment').spec.template.metadata.annotations['prometheus.io/port']).toBe(String(portOf('metrics')))
  })

  it('let Prometheus find the metrics under the job name of the alerts, as deploy/prometheus says', () => {
    const [job, monitor] = [...read('deploy/prometheus/README.md').matchAll(/^```yaml\n(.*?)^```$/gms)].map(
      ([, text]) => parse(text!),
    )
    const { labels } = one('Deployment').spec.template.metadata
    const [name] = Object.values(labels)
    expect(portOf('metrics')).toBeDefined()
    expect(read('deploy/prometheus/alerts.yml')).toContain(`up{job="${name}"}`)

    expect(job.scrape_configs).toMatchObject([{ job_name: name, kubernetes_sd_configs: [{ role: 'pod' }] }])
    const labelOfPod = Object.keys(labels)[0]!.replace(/\W/g, '_')
    expect(job.scrape_configs[0].relabel_configs).toContainEqual({
      source_labels: [`__meta_kubernetes_pod_label_${labelOfPod}`, '__meta_kubernetes_pod_container_port_name'],
      regex: `${name};metrics`,
      action: 'keep',
    })
    expect(monitor.spec).toEqual({
      jobLabel: Object.keys(labels)[0],
      selector: { matchLabels: labels },
      podMetricsEndpoints: [{ port: 'metrics' }],
    })
  })

  it('let a pod finish before it is ended, and never have fewer replicas than asked for in an upgrade', () => {
    expect(DRAIN + STOP_LIMIT).toBeLessThan(pod.terminationGracePeriodSeconds * 1000)
    expect(one('Deployment').spec).toMatchObject({
      replicas: 2,
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    })
    expect(one('PodDisruptionBudget').spec.maxUnavailable).toBe(1)
  })

  it('run without privileges, and write to the data volume only', () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(container!.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container!.volumeMounts.filter(({ readOnly }) => readOnly !== true).map(({ name }) => name)).toEqual([
      'data',
    ])
    expect(pod.automountServiceAccountToken).toBe(false)
  })

  function portOf(name: string): number | undefined {
    return container!.ports.find((port) => port.name === name)?.containerPort
  }
})

/** As much of an object of Kubernetes as the tests look at. */
interface Manifest {
  kind: string
  metadata: { name: string; namespace?: string }
  data: Record<string, string>
  stringData: Record<string, string>
  spec: {
    clusterIP?: string
    maxUnavailable?: number
    podSelector?: { matchLabels: unknown }
    ports: unknown[]
    selector: Record<string, string> & { matchLabels?: unknown }
    template: {
      metadata: { labels: Record<string, string>; annotations: Record<string, string> }
      spec: {
        enableServiceLinks: boolean
        volumes: unknown[]
        automountServiceAccountToken: boolean
        terminationGracePeriodSeconds: number
        securityContext: unknown
        topologySpreadConstraints: { labelSelector: { matchLabels: unknown } }[]
        containers: {
          ports: { name: string; containerPort: number }[]
          envFrom: unknown[]
          volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[]
          securityContext: unknown
          livenessProbe: { httpGet: unknown }
          readinessProbe: { httpGet: unknown }
          startupProbe: { httpGet: unknown }
        }[]
      }
    }
  }
}

describe('the Dockerfile', () => {
  it('copies what exists, and what .dockerignore lets through', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
    const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names]) =>
      names!.split(' '),
    )
    expect(copied).toContain('src')
    for (const name of copied) {
      expect(existsSync(join(ROOT, name))).toBe(true)
      expect(allowed).toContain(`!${name.split('/')[0]}`)
    }
  })

  it('takes what is compiled and the packages from stages of its own, on the same base', () => {
    const stages = [...read('Dockerfile').matchAll(/^FROM (\S+)(?: AS (\w+))?$/gm)].map(([, base, name]) => [
      base,
      name,
    ])
    expect(stages).toEqual([
      [expect.stringContaining('@sha256:'), 'base'],
      ['base', 'build'],
      ['base', 'packages'],
      ['base', undefined],
    ])
    const taken = [...read('Dockerfile').matchAll(/^COPY --from=(\w+) (\S+) /gm)].map(([, stage, path]) => [
      stage,
      path,
    ])
    expect(taken).toEqual([
      ['packages', '/app/node_modules'],
      ['build', '/app/dist'],
    ])
  })

  it('compiles modules that exist', () => {
    const modules = read('Dockerfile').match(/(?<=')[\w-]+(\/[\w-]+)+(?=')/g) ?? []
    expect(modules.filter((name) => !existsSync(join(ROOT, 'src', `${name}.ts`)))).toEqual([])
    expect(modules).toContain('cli/run')
  })

  it('asks for health with a command that exists, whatever the settings are', () => {
    const entry = /^ENTRYPOINT (.+)$/m.exec(read('Dockerfile'))?.[1] ?? ''
    const probe = /^HEALTHCHECK .* CMD (.+)$/m.exec(read('Dockerfile'))?.[1] ?? ''
    expect(JSON.parse(probe)).toEqual(['node', JSON.parse(entry).at(-1), 'health'])
  })

  it('starts the command line that package.json names, on the major version of Node.js that it is tested with', () => {
    const manifest = JSON.parse(read('package.json')) as {
      bin: { keyturn: string }
      scripts: { start: string }
      devDependencies: { node: string }
    }
    const program = manifest.bin.keyturn
    const [, , ...start] = manifest.scripts.start.split(' ')
    expect(start.slice(-2)).toEqual([program, 'serve'])
    const flags = start.slice(0, -2)
    const entry = ['node', ...flags, program].map((word) => JSON.stringify(word))
    expect(read('Dockerfile')).toContain(`ENTRYPOINT [${entry.join(', ')}]`)
    expect(read(program).split('\n')[0]).toBe(`#!/usr/bin/env -S ${['node', ...flags].join(' ')}`)
    const major = manifest.devDependencies.node.split('.')[0]
    expect(read('Dockerfile')).toContain(`FROM node:${major}-`)
    expect(read('.node-version').trim()).toBe(major)
  })
})

describe('the workflow', () => {
  it('runs the gate', () => {
    const workflow = parse(read('.github/workflows/ci.yml')) as { jobs: { check: { steps: { run?: string }[] } } }
    expect(workflow.jobs.check.steps.map(({ run }) => run)).toContain('bash .ci/run')
    expect(read('.ci/run')).toMatch(/^npm ci$.*^npm test /ms)
  })
})
