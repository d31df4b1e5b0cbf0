import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse, parseAllDocuments } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const filesIn = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`)

const WORKFLOWS = filesIn('.github/workflows')

interface Step {
  uses?: string
  run?: string
  with?: Record<string, unknown>
}

interface Workflow {
  on: Record<string, unknown>
  permissions: Record<string, string>
  concurrency: unknown
  jobs: Record<string, { 'timeout-minutes'?: number; permissions?: Record<string, string>; steps: Step[] }>
}

const workflow = (file: string) => parse(read(file)) as Workflow
const jobs = (file: string) => Object.values(workflow(file).jobs)
const commands = (file: string) => jobs(file).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))

describe.each(WORKFLOWS)('the workflow %s', (file) => {
  it('uses actions by their commit only, with the version beside it', () => {
    const uses = read(file)
      .split('\n')
      .filter((line) => /\buses:/.test(line))
    expect(uses.length).toBeGreaterThan(0)
    for (const line of uses) expect(line).toMatch(/^\s+- uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    expect(uses).toHaveLength(jobs(file).flatMap(({ steps }) => steps.filter(({ uses }) => uses)).length)
  })

  it('may only read, leaves no credentials in the checkout, and ends', () => {
    const { permissions, concurrency } = workflow(file)
    expect(permissions).toEqual({ contents: 'read' })
    expect(concurrency).toBeDefined()
    for (const job of jobs(file)) {
      expect(job['timeout-minutes']).toBeLessThanOrEqual(30)
      const checkouts = job.steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
      expect(checkouts.map((step) => step.with?.['persist-credentials'])).toEqual([false])
      if (job.permissions !== undefined) {
        // What may write installs nothing, so that no code of a package runs beside its token.
        expect(file).toBe('.github/workflows/lock.yml')
        expect(job.steps.map(({ run }) => run ?? '').join('\n')).not.toMatch(
          /npm (ci|install|run|test|exec)|npx|\.ci\/run/,
        )
      }
    }
  })

  it('gives no pull request a token that may write, and puts no text of an event into a shell', () => {
    expect(Object.keys(workflow(file).on)).not.toContain('pull_request_target')
    for (const command of commands(file)) expect(command).not.toContain('${{')
  })

  it('runs scripts that exist', () => {
    const scripts = commands(file).flatMap((command) => command.match(/(scripts\/[\w-]+\.ts|\.ci\/run)/g) ?? [])
    for (const script of scripts) expect(existsSync(join(ROOT, script))).toBe(true)
  })
})

describe('the release workflow', () => {
  const run = commands('.github/workflows/release.yml')

  it('refuses a lock with a gap and a known vulnerability before it runs the gate', () => {
    const gate = run.indexOf('bash .ci/run')
    expect(gate).toBeGreaterThan(0)
    expect(run.slice(0, gate)).toContain('node scripts/check-lock.ts --release')
    expect(run.slice(0, gate)).toContain('npm audit --omit=dev --audit-level=high')
  })

  it('makes the bill of materials an artifact', () => {
    const steps = jobs('.github/workflows/release.yml').flatMap((job) => job.steps)
    const upload = steps.find(({ uses }) => uses?.startsWith('actions/upload-artifact@'))
    expect(run.at(-1)).toBe(`node scripts/sbom.ts > ${upload?.with?.path}`)
    expect(upload?.with).toMatchObject({ 'if-no-files-found': 'error' })
  })
})

describe('what is known of vulnerabilities', () => {
  it('is asked for at each change and each week', () => {
    const { on } = workflow('.github/workflows/audit.yml')
    expect(Object.keys(on)).toEqual(expect.arrayContaining(['push', 'pull_request', 'schedule']))
    expect(commands('.github/workflows/audit.yml')).toContain('npm audit --omit=dev --audit-level=high')
  })
})

describe('the gate', () => {
  it('checks the lock', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    expect(scripts['check:lock']).toBe('node scripts/check-lock.ts')
    expect(scripts['check:static']).toContain('npm run check:lock')
    expect(read('.ci/run')).toContain('npm run check:static')
  })
})

/** Built from the Dockerfile. An operator puts the name and the digest of the build there. */
const OWN_IMAGES = new Set(['docker-compose.yml keyturn', 'deploy/kubernetes/deployment.yaml keyturn:0.1.0'])

describe('images', () => {
  const manifests = ['docker-compose.yml', ...WORKFLOWS, ...filesIn('deploy').filter((name) => /\.ya?ml$/.test(name))]

  it('are pinned by digest wherever one is used', () => {
    const used = [
      ...read('Dockerfile')
        .split('\n')
        .flatMap((line) => line.match(/^FROM\s+(\S+)/i)?.slice(1) ?? [])
        .map((image) => `Dockerfile ${image}`),
      ...manifests.flatMap((file) =>
        parseAllDocuments(read(file)).flatMap((document) =>
          imagesIn(document.toJS()).map((image) => `${file} ${image}`),
        ),
      ),
    ]
    const foreign = used.filter((image) => !OWN_IMAGES.has(image))
    expect(foreign.map((image) => image.replace(/[:@].*/, '')).sort()).toEqual([
      'Dockerfile node',
      'docker-compose.yml haproxy',
      'docker-compose.yml postgres',
    ])
    for (const image of foreign) expect(image).toMatch(/^\S+ [a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
    expect(used).toEqual(expect.arrayContaining([...OWN_IMAGES]))
  })

  function imagesIn(value: unknown): string[] {
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value).flatMap(([key, inner]) =>
      (key === 'image' || key === 'container') && typeof inner === 'string' ? [inner] : imagesIn(inner),
    )
  }
})

describe('the update bot', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    updates: {
      'package-ecosystem': string
      directory?: string
      directories?: string[]
      schedule: { interval: string }
    }[]
  }

  it('looks every week after everything that is pinned', () => {
    expect(
      updates.map((update) => [update['package-ecosystem'], ...(update.directories ?? [update.directory])]),
    ).toEqual([
      ['npm', '/'],
      ['github-actions', '/'],
      ['docker', '/'],
      ['docker-compose', '/'],
      ['npm', '/test/interop/node', '/test/clients/node', '/test/clients/runtimes'],
      ['pip', '/test/interop/python', '/test/clients/python'],
      ['gomod', '/test/interop/go', '/test/clients/go'],
      ['maven', '/test/interop/java', '/test/clients/java'],
      ['cargo', '/test/interop/rust'],
    ])
    expect(updates.filter(({ schedule }) => schedule.interval !== 'weekly')).toEqual([])
  })
})
