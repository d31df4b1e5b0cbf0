import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { ConfigError, readConfig } from '../../src/config/config.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')

interface Compose {
  services: Record<
    string,
    { environment: Record<string, string>; user?: string; build?: string; healthcheck?: unknown; depends_on?: unknown }
  >
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
}

describe('docker-compose.yml', () => {
  const compose = parse(read('docker-compose.yml')) as Compose
  const { keyturn, postgres } = compose.services

  it('configures the service with variables that exist and values that are valid', () => {
    const environment = Object.fromEntries(
      Object.entries(keyturn!.environment).map(([name, value]) => [
        name,
        value.replace(/\$\{POSTGRES_PASSWORD\}/, 'x'),
      ]),
    )
    expect(() => readConfig({}, environment)).not.toThrow(ConfigError)
    expect(readConfig({}, environment)).toMatchObject({
      database: { kind: 'postgres' },
      masterKeys: { kind: 'file', path: '/run/secrets/master-keys' },
      credentialsFile: '/data/admin.json',
    })
  })

  it('runs the service as another user than root, after a healthy PostgreSQL', () => {
    expect(keyturn).toMatchObject({ user: 'node', depends_on: { postgres: { condition: 'service_healthy' } } })
    expect(postgres).toHaveProperty('healthcheck.test')
  })

  it('mounts secrets and volumes that it declares, and keeps the secret files out of git and of the image', () => {
    expect(compose).toMatchObject({
      secrets: { 'master-keys': { file: './master-keys' } },
      volumes: { data: null, postgres: null },
    })
    expect(read('.gitignore')).toMatch(/^master-keys$/m)
    expect(read('.dockerignore').split('\n')[0]).toBe('*')
  })
})

describe('the Dockerfile', () => {
  it('copies what exists, and what .dockerignore lets through', () => {
    const allowed = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
    const copied = [...read('Dockerfile').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, names]) => names!.split(' '))
    expect(copied).toContain('src')
    for (const name of copied) {
      expect(existsSync(join(ROOT, name))).toBe(true)
      expect(allowed).toContain(`!${name}`)
    }
  })

  it('starts the command line that package.json names, on the major version of Node.js that it is tested with', () => {
    const manifest = JSON.parse(read('package.json')) as { bin: { keyturn: string }; devDependencies: { node: string } }
    expect(read('Dockerfile')).toContain(`ENTRYPOINT ["node", "${manifest.bin.keyturn}"]`)
    const major = manifest.devDependencies.node.split('.')[0]
    expect(read('Dockerfile')).toContain(`FROM node:${major}-`)
    expect(read('.node-version').trim()).toBe(major)
  })
})

describe('the workflow', () => {
  it('runs the gate', () => {
    const workflow = parse(read('.github/workflows/ci.yml')) as { jobs: { check: { steps: { run?: string }[] } } }
    expect(workflow.jobs.check.steps.map(({ run }) => run)).toContain('bash .ci/run')
    expect(read('.ci/run')).toContain('npm ci\nnpm test')
  })
})
