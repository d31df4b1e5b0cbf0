import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse, parseAllDocuments } from 'yaml'
import { ConfigError } from '../../src/config/config.ts'
import { readConfig } from '../../src/config/read-config.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')

interface Compose {
  services: Record<
    string,
    {
      environment: Record<string, string>
      secrets?: string[]
    }
  >
  networks: { default: { ipam: { config: { subnet: string }[] } } }
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
}

describe('docker-compose.yml', () => {
  const compose = parse(read('docker-compose.yml')) as Compose
  const { 'keyturn-1': one, 'keyturn-2': two } = compose.services

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
  const environment = (changes: Record<string, string> = {}) => ({
    ...settings,
    KEYTURN_BASE_URL: 'https://tokens.example.com',
    KEYTURN_DATABASE_URL: 'postgres://keyturn:password@host:5432/keyturn',
    ...changes,
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

  function portOf(name: string): number | undefined {
    return container!.ports.find((port) => port.name === name)?.containerPort
  }
})

/** As much of an object of Kubernetes as the tests look at. */
interface Manifest {
  kind: string
  metadata: { name: string; namespace?: string }
  data: Record<string, string>
  spec: {
    template: {
      spec: {
        volumes: unknown[]
        containers: {
          ports: { name: string; containerPort: number }[]
          envFrom: unknown[]
          volumeMounts: { name: string; mountPath: string }[]
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

  it('compiles modules that exist', () => {
    const modules = read('Dockerfile').match(/(?<=')[\w-]+(\/[\w-]+)+(?=')/g) ?? []
    expect(modules.filter((name) => !existsSync(join(ROOT, 'src', `${name}.ts`)))).toEqual([])
    expect(modules).toContain('cli/run')
  })
})
