import { readdirSync, readFileSync } from 'node:fs'
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

  it('gives no pull request a token that may write, and puts no text of an event into a shell', () => {
    expect(Object.keys(workflow(file).on)).not.toContain('pull_request_target')
    for (const command of commands(file)) expect(command).not.toContain('${{')
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
