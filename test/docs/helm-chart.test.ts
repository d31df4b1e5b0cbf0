/**
 * The Helm chart in `deploy/helm`, rendered by the real Helm.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { readConfig } from '../../src/config/read-config.ts'
import { SETTINGS } from '../../src/config/settings.ts'
import { STOP_LIMIT } from '../../src/server/stop-limit.ts'
import {
  CHART,
  helm,
  type KubernetesObject,
  kubernetesObjects,
  NO_HELM,
  objectOf,
  renderChart,
  type Values,
} from '../support/helm.ts'
import { describeUnless } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const readJson = (name: string) => JSON.parse(read(name))
const render = (values: Values) => kubernetesObjects(renderChart(values))

if (NO_HELM !== undefined) process.stderr.write(`Skipped what Helm makes of deploy/helm: ${NO_HELM}\n`)

/** Settings that the chart makes itself, from values of their own or because they belong to its volumes and ports. */
const OWN_SETTINGS = [
  'KEYTURN_LISTEN',
  'KEYTURN_BASE_URL',
  'KEYTURN_DATABASE_URL',
  'KEYTURN_DATABASE_URL_FILE',
  'KEYTURN_DATA_DIR',
  'KEYTURN_MASTER_KEYS',
  'KEYTURN_MASTER_KEYS_FILE',
  'KEYTURN_MASTER_KEYS_COMMAND',
  'KEYTURN_CREDENTIALS',
  'KEYTURN_INITIAL_CREDENTIALS_FILE',
  'KEYTURN_BOOTSTRAP_FILE',
  'KEYTURN_TLS_CERT_FILE',
  'KEYTURN_TLS_KEY_FILE',
  'KEYTURN_TLS_CLIENT_CA_FILE',
  'KEYTURN_METRICS_LISTEN',
  // Has a password, so it comes from a secret, with `extraEnv`.
  'KEYTURN_PRIMARY_DATABASE_URL',
]

/** What no chart can do without. */
const REQUIRED: Values = {
  baseUrl: 'https://tokens.example.com',
  secrets: { existingSecret: 'keyturn' },
}

/** An instance that begins with a configuration, without a secret of an administrator. */
const WITH_BOOTSTRAP: Values = {
  ...REQUIRED,
  bootstrap: { existingConfigMap: 'owners', key: 'owners.yaml' },
}

/** Every part, each in another way than by default. */
const EVERYTHING: Values = {
  baseUrl: 'https://tokens.example.com:8443',
  secrets: {
    databaseUrl: { existingSecret: 'database-app', key: 'uri' },
    masterKeys: { existingSecret: 'vault', key: 'keyturn' },
    initialCredentials: { existingSecret: 'first', key: 'administrator' },
  },
  config: { KEYTURN_DRAIN_SECONDS: 60, KEYTURN_BETA_API: 'off', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' },
  extraEnv: [{ name: 'OTEL_SERVICE_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
  extraVolumes: [{ name: 'authority', configMap: { name: 'database-authority' } }],
  extraVolumeMounts: [{ name: 'authority', mountPath: '/etc/authority', readOnly: true }],
  replicas: 3,
  image: { repository: 'registry.example.com/keyturn', digest: `sha256:${'0'.repeat(64)}`, pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  tls: { existingSecret: 'certificate' },
  service: { type: 'LoadBalancer', port: 443, annotations: { 'example.com/internal': 'true' } },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'cert-manager.io/cluster-issuer': 'public' },
    tlsSecret: 'public-certificate',
  },
  httpRoute: {
    enabled: true,
    annotations: { 'example.com/team': 'platform' },
    parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
  },
  metrics: { podMonitor: { enabled: true, labels: { release: 'prometheus' }, interval: '30s' } },
  networkPolicy: {
    enabled: true,
    from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'gateways' } } }],
    metricsFrom: [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } } }],
  },
  podDisruptionBudget: { maxUnavailable: '50%' },
  topologySpread: { keys: ['kubernetes.io/hostname'], whenUnsatisfiable: 'DoNotSchedule' },
  serviceAccountName: 'keyturn',
  podAnnotations: { 'example.com/checked': 'yes' },
  podLabels: { 'example.com/team': 'platform' },
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'identity', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }],
      },
    },
  },
  priorityClassName: 'system-cluster-critical',
}

/** As little as possible. */
const LITTLE: Values = {
  ...REQUIRED,
  metrics: { enabled: false },
  networkPolicy: { enabled: false },
  podDisruptionBudget: { enabled: false },
  topologySpread: { keys: [] },
  resources: null,
  podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
}

describe('the Helm chart', () => {
  it('has the version of the package, for itself and for the image', () => {
    const { version } = readJson('package.json')
    expect(parse(read('deploy/helm/Chart.yaml'))).toMatchObject({ name: 'keyturn', version, appVersion: version })
  })

  it('lets every other setting be set by its name, and refuses unknown ones', () => {
    const { config } = readJson('deploy/helm/values.schema.json').properties
    const [{ enum: names }, { pattern }] = config.propertyNames.anyOf
    const variables: string[] = SETTINGS.map(({ variable }) => variable).filter((name) => !OWN_SETTINGS.includes(name))
    expect(variables.filter((name) => !new RegExp(pattern).test(name)).sort()).toEqual([...names].sort())
  })
})

describeUnless(NO_HELM)('what Helm makes of the chart', () => {
  let objects: KubernetesObject[]
  beforeAll(() => {
    objects = render(REQUIRED)
  })

  it.each([
    ['the required values', REQUIRED],
    ['every value', EVERYTHING],
    ['few parts', LITTLE],
    ['a bootstrap file', WITH_BOOTSTRAP],
  ])('passes its linter with %s', (_, values) => {
    expect(helm(['lint', '--strict', CHART, '--values', '-'], values)).toContain('0 chart(s) failed')
  })

  it('is what deploy/kubernetes has, with the same settings', () => {
    const manifests = readdirSync(join(ROOT, 'deploy/kubernetes'))
      .filter((name) => name.endsWith('.yaml'))
      .flatMap((name) => kubernetesObjects(read(`deploy/kubernetes/${name}`)))
    const withoutSecret = manifests.filter(({ kind }) => kind !== 'Secret')
    const names = (all: readonly KubernetesObject[]) =>
      all.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort()
    expect(names(objects)).toEqual(names(withoutSecret))
    for (const manifest of withoutSecret) {
      expect(comparable(objectOf(objects, manifest.kind, manifest.metadata.name))).toEqual(comparable(manifest))
    }
  })

  it('mounts the secrets where the settings look for them', () => {
    const { volumes } = objectOf(objects, 'Deployment').spec.template.spec
    const secret = (name: string, key: string, path: string) => ({ name, items: [{ key, path }] })
    expect(volumes).toContainEqual({
      name: 'secrets',
      projected: {
        defaultMode: 0o440,
        sources: [
          { secret: secret('keyturn', 'database-url', 'database-url') },
          { secret: secret('keyturn', 'master-keys', 'master-keys') },
          { secret: { ...secret('keyturn', 'admin.json', 'admin.json'), optional: true } },
        ],
      },
    })
  })

  it('mounts the file that an empty instance begins with, and no credentials of an administrator then', () => {
    const rendered = render(WITH_BOOTSTRAP)
    const { containers, volumes } = objectOf(rendered, 'Deployment').spec.template.spec
    const { KEYTURN_BOOTSTRAP_FILE, KEYTURN_INITIAL_CREDENTIALS_FILE } = objectOf(rendered, 'ConfigMap').data
    const { mountPath } = containers[0].volumeMounts.find(({ name }: { name: string }) => name === 'bootstrap')
    expect(KEYTURN_BOOTSTRAP_FILE).toBe(`${mountPath}/bootstrap.yaml`)
    expect(KEYTURN_INITIAL_CREDENTIALS_FILE).toBeUndefined()
    expect(volumes).toContainEqual({
      name: 'bootstrap',
      configMap: { name: 'owners', optional: true, items: [{ key: 'owners.yaml', path: 'bootstrap.yaml' }] },
    })
    const { sources } = volumes.find(({ name }: { name: string }) => name === 'secrets').projected
    expect(sources).toHaveLength(2)
  })

  it.each([
    ['the required values', REQUIRED],
    ['every value', EVERYTHING],
    ['few parts', LITTLE],
    ['a bootstrap file', WITH_BOOTSTRAP],
  ])('configures a server with %s, which gets longer to stop than it may take', (_, values) => {
    const rendered = render(values)
    const { containers, terminationGracePeriodSeconds } = objectOf(rendered, 'Deployment').spec.template.spec
    const database = { KEYTURN_DATABASE_URL: 'postgres://keyturn:password@host:5432/keyturn' }
    const { KEYTURN_DATABASE_URL_FILE: file, ...settings } = objectOf(rendered, 'ConfigMap').data
    expect(file).toBe('/run/secrets/keyturn/database-url')
    const config = readConfig({}, { ...settings, ...database })
    const { listen, metricsListen } = config
    expect(containers[0].ports).toEqual([
      { name: 'http', containerPort: listen.port },
      ...(metricsListen === null ? [] : [{ name: 'metrics', containerPort: metricsListen.port }]),
    ])
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(config.drainSeconds * 1000 + STOP_LIMIT)
  })

  it('speaks TLS to the pods with a certificate, also when it asks for their health', () => {
    const rendered = render({ ...REQUIRED, tls: { existingSecret: 'certificate' } })
    const { containers, volumes } = objectOf(rendered, 'Deployment').spec.template.spec
    const { KEYTURN_TLS_CERT_FILE, KEYTURN_TLS_KEY_FILE } = objectOf(rendered, 'ConfigMap').data
    const { mountPath } = containers[0].volumeMounts.find(({ name }: { name: string }) => name === 'tls')
    // The names in a Secret of type kubernetes.io/tls.
    expect([KEYTURN_TLS_CERT_FILE, KEYTURN_TLS_KEY_FILE]).toEqual([`${mountPath}/tls.crt`, `${mountPath}/tls.key`])
    expect(volumes).toContainEqual({ name: 'tls', secret: { secretName: 'certificate', defaultMode: 0o440 } })
    const { startupProbe, livenessProbe, readinessProbe } = containers[0]
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) expect(httpGet.scheme).toBe('HTTPS')
    expect(objectOf(rendered, 'Service').spec.ports).toMatchObject([{ appProtocol: 'https' }])
  })

  it.each([
    ['the base URL', { secrets: REQUIRED.secrets }, 'baseUrl is not set: it is the address that clients use'],
    [
      'every secret',
      { baseUrl: REQUIRED.baseUrl },
      'names no Secret. Make one with the keys database-url, master-keys',
    ],
    [
      'one secret',
      { ...REQUIRED, secrets: { databaseUrl: { existingSecret: 'a' }, masterKeys: { existingSecret: 'b' } } },
      '--set secrets.initialCredentials.existingSecret=NAME',
    ],
    ['the gateway', { ...REQUIRED, httpRoute: { enabled: true } }, 'httpRoute.parentRefs names no gateway'],
  ])('refuses to do without %s, and says what to do', (_, values, message) => {
    expect(() => render(values)).toThrow(message)
  })

  it.each([
    ['unknown values', { replica: 2 }, 'replica'],
    ['secrets as values', { secrets: { masterKeys: 'm1:…' } }, 'masterKeys'],
    ['unknown settings', { config: { KEYTURN_TOKEN_LIFETIM: 600 } }, 'KEYTURN_TOKEN_LIFETIM'],
    ['settings that it makes itself', { config: { KEYTURN_LISTEN: '0.0.0.0:80' } }, 'KEYTURN_LISTEN'],
    ['on and off without quotes', { config: { KEYTURN_BETA_API: false } }, 'KEYTURN_BETA_API'],
  ])('refuses %s', (_, values, message) => {
    expect(() => render({ ...REQUIRED, ...values })).toThrow(message)
  })
})

/** An object without labels and selectors, which differ, and without what only the chart or only the manifests can say. */
function comparable(object: KubernetesObject): unknown {
  const text = JSON.stringify(object, (key, value) => {
    if (key === 'labels' || key === 'selector' || key === 'matchLabels') return undefined
    if (key === 'imagePullPolicy' || key === 'checksum/config') return undefined
    if (key === 'KEYTURN_BASE_URL') return 'https://tokens.example.com'
    // The test below has the other one.
    if (key === 'volumes') return value.filter(({ name }: { name: string }) => name !== 'secrets')
    // The default of a service.
    if (key === 'type' && value === 'ClusterIP') return undefined
    return value
  })
  return JSON.parse(text)
}
