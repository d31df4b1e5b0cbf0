import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
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
  jobs: Record<string, Job>
}

interface Job {
  'timeout-minutes'?: number
  permissions?: Record<string, string>
  needs?: string | string[]
  strategy?: { matrix: { include: { runner: string; architecture: string }[] } }
  steps: Step[]
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
      expect(checkouts.filter((step) => step.with?.['persist-credentials'] !== false)).toEqual([])
      if (job.permissions !== undefined) {
        // What may write installs nothing, so that no code of a package runs beside its token.
        expect(['.github/workflows/lock.yml', '.github/workflows/release.yml']).toContain(file)
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
  const RELEASE = '.github/workflows/release.yml'
  const run = commands(RELEASE)

  it('refuses a lock with a gap and a known vulnerability before it runs the gate', () => {
    const gate = run.indexOf('bash .ci/run')
    expect(gate).toBeGreaterThan(0)
    expect(run.slice(0, gate)).toContain('node scripts/check-lock.ts --release')
    expect(run.slice(0, gate)).toContain('npm audit --omit=dev --audit-level=high')
  })

  it('publishes nothing before the gate has passed, and what the gate has packed', () => {
    const { gate, ...others } = workflow(RELEASE).jobs
    expect(gate?.permissions).toBeUndefined()
    const needs = (name: string): string[] => {
      const needed = [others[name]?.needs ?? []].flat()
      return [...needed, ...needed.flatMap(needs)]
    }
    for (const name of Object.keys(others)) expect(needs(name)).toContain('gate')
    const steps = (gate?.steps ?? []).map(({ run }) => run ?? '')
    const pack = steps.find((text) => text.includes('npm pack')) ?? ''
    expect(steps.indexOf(pack)).toBeGreaterThan(steps.indexOf('bash .ci/run'))
    for (const part of [
      'scripts/sbom.ts > release/keyturn.cdx.json',
      'scripts/proto-archive.ts release',
      'release/keyturn-chart-',
      'SHA256SUMS',
      'scripts/release-notes.ts > notes.md',
    ])
      expect(pack).toContain(part)
    expect(gate?.steps.at(-1)).toMatchObject({ with: { path: 'release\nnotes.md\n', 'if-no-files-found': 'error' } })
  })

  it('proves where the npm package, the image, the chart and the files of a release come from', () => {
    const { npm, index, chart, release } = workflow(RELEASE).jobs
    expect(npm?.permissions).toEqual({ 'id-token': 'write' })
    expect(npm?.steps.at(-1)?.run).toMatch(/npm publish \S+ --provenance --access public --ignore-scripts/)
    const attested = [index, chart, release].map((job) =>
      job?.steps.find(({ uses }) => uses?.startsWith('actions/attest-build-provenance@')),
    )
    expect(attested).toMatchObject([
      { with: { 'push-to-registry': true, 'subject-digest': expect.stringContaining('index.outputs.digest') } },
      { with: { 'push-to-registry': true, 'subject-digest': expect.stringContaining('push.outputs.digest') } },
      { with: { 'subject-checksums': 'release/SHA256SUMS' } },
    ])
  })

  it('pushes the packed chart after the image that it runs, with checked files, to the address of the page', () => {
    const { chart } = workflow(RELEASE).jobs
    expect(chart?.needs).toBe('index')
    const push = chart?.steps.find(({ run }) => run?.includes('helm push'))?.run ?? ''
    expect(push).toMatch(/sha256sum --check[\s\S]+helm push "release\/keyturn-chart-\S+\.tgz" "oci:\/\/\$charts"/)
    expect(push).toContain(`charts="ghcr.io/$\{GITHUB_REPOSITORY_OWNER,,}/charts"`)
    expect(JSON.parse(read('package.json')).homepage).toMatch('github.com/keyturn/')
    expect(read('docs/install.md')).toContain(
      'helm install keyturn oci://ghcr.io/keyturn/charts/keyturn --version VERSION',
    )
  })

  it('pushes an image for each architecture that the Dockerfile and npm have packages for', () => {
    const { image } = workflow(RELEASE).jobs
    expect(image?.strategy?.matrix.include.map(({ architecture }) => architecture)).toEqual(['amd64', 'arm64'])
    // The token is in reach of nothing that is built.
    const [build, push] = (image?.steps ?? []).flatMap(({ run }) => run ?? [])
    expect(build).toContain('docker buildx build')
    expect(build).not.toContain('login')
    expect(push).toContain('docker push')
  })

  it('prints the section of a version, and refuses one that the changelog does not have', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-notes-'))
    const script = join(ROOT, 'scripts/release-notes.ts')
    const notesOf = async (version: string) => {
      await writeFile(join(folder, 'package.json'), JSON.stringify({ version }))
      return await promisify(execFile)(process.execPath, [script], { cwd: folder })
    }
    try {
      const changelog =
        '# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.0 - 2027-01-31\n\n- this\n\n## 1.1.0\n\n- old\n'
      await writeFile(join(folder, 'CHANGELOG.md'), changelog)
      expect(await notesOf('1.2.0')).toMatchObject({ stdout: '- this\n' })
      await expect(notesOf('1.2.1')).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('"## 1.2.1"') })
    } finally {
      await rm(folder, { recursive: true })
    }
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

/** Built from the Dockerfile: in the checkout, and by a release, whose digest an operator puts there. */
const OWN_IMAGES = new Set([
  'docker-compose.yml keyturn',
  `deploy/kubernetes/deployment.yaml ghcr.io/keyturn/keyturn:${JSON.parse(read('package.json')).version}`,
])

describe('images', () => {
  // Templates are no YAML. The chart takes the image that the workflow has pushed, by the version of both.
  const manifests = ['docker-compose.yml', ...WORKFLOWS, ...filesIn('deploy')].filter(
    (name) => /\.ya?ml$/.test(name) && !name.startsWith('deploy/helm/templates/'),
  )

  it('are pinned by digest wherever one is used', () => {
    const used = [
      ...read('Dockerfile')
        .split('\n')
        .flatMap((line) => line.match(/^FROM\s+(?!base\b)(\S+)/i)?.slice(1) ?? [])
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
      ['npm', '/test/interop/node', '/test/clients/node', '/test/clients/openapi', '/test/clients/runtimes'],
      ['pip', '/test/interop/python', '/test/clients/python', '/test/clients/kubernetes', '/test/fault/schemathesis'],
      ['gomod', '/test/interop/go', '/test/clients/go'],
      ['maven', '/test/interop/java', '/test/clients/java'],
      ['cargo', '/test/interop/rust'],
    ])
    expect(updates.filter(({ schedule }) => schedule.interval !== 'weekly')).toEqual([])
  })
})
