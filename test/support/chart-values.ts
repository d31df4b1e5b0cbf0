/**
 * Values of the chart in `deploy/helm` with which the tests render it.
 */
import type { Values } from './helm.ts'

/** What no chart can do without. */
export const REQUIRED: Values = {
  baseUrl: 'https://tokens.example.com',
  secrets: { existingSecret: 'keyturn' },
}

/** An instance that begins with a configuration, without a secret of an administrator. */
export const WITH_BOOTSTRAP: Values = {
  ...REQUIRED,
  bootstrap: { existingConfigMap: 'owners', key: 'owners.yaml' },
}

/** Every part, each in another way than by default. */
export const EVERYTHING: Values = {
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
export const LITTLE: Values = {
  ...REQUIRED,
  metrics: { enabled: false },
  networkPolicy: { enabled: false },
  podDisruptionBudget: { enabled: false },
  topologySpread: { keys: [] },
  resources: null,
  podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
}
