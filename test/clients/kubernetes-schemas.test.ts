/**
 * What is in `deploy/` for Kubernetes, validated by the schemas of Kubernetes itself, which the Python package `kubernetes-validate` has.
 * They know every field: a misspelled one is an error.
 */
import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { EVERYTHING, LITTLE, REQUIRED } from '../support/chart-values.ts'
import { cannotInstall, missing, shellIn } from '../support/foreign-tools.ts'
import { NO_HELM, renderChart } from '../support/helm.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The oldest version that the chart admits, and the newest that the package knows. */
const VERSIONS = ['1.27', '1.37']
/** Objects of kinds that are no part of Kubernetes, whose schemas the package does not have. */
const EXTENSION = /^kind: (HTTPRoute|PodMonitor)$/m

const folder = await temporaryFolder()
const shell = shellIn(folder, 'kubernetes')
const obstacle =
  missing({ needs: { 'Python 3 with venv': 'python3 -c "import ensurepip, venv"' } }) ??
  (await cannotInstall(
    {
      install: `test -e "$CACHE/bin/python" || python3 -m venv "$CACHE"
        pip install --quiet --requirement ${join(import.meta.dirname, 'kubernetes/requirements.txt')}`,
    },
    shell,
  ))
if (obstacle !== undefined) process.stderr.write(`Skipped the schemas of Kubernetes: ${obstacle}\n`)
afterAll(() => removeFolder(folder))

describeUnless(obstacle)('by the schemas of Kubernetes', () => {
  let file: string
  beforeAll(() => {
    file = join(folder, 'objects.yaml')
  })

  /** @throws {Error} that names what is wrong. */
  async function validate(yaml: string, version: string): Promise<void> {
    const documents = yaml.split(/^---$/m).filter((document) => !EXTENSION.test(document))
    await writeFile(file, documents.join('---'))
    await shell(`kubernetes-validate --strict --quiet --kubernetes-version ${version} ${file} 2>&1`)
  }

  it.each(VERSIONS)('the manifests are valid, version %s', async (version) => {
    const manifests = globSync('deploy/kubernetes/*.yaml', { cwd: ROOT }).map((name) => join(ROOT, name))
    expect(manifests.length).toBeGreaterThan(0)
    await shell(`kubernetes-validate --strict --quiet --kubernetes-version ${version} ${manifests.join(' ')} 2>&1`)
  })

  describeUnless(NO_HELM)('the chart', () => {
    it.each(
      VERSIONS.flatMap((version) => [
        ['the required values', version, REQUIRED] as const,
        ['every value', version, EVERYTHING] as const,
        ['few parts', version, LITTLE] as const,
      ]),
    )('is valid with %s, version %s', async (_, version, values) => {
      await validate(renderChart(values, version), version)
    })

    it('would not be with a field that does not exist, or with one of another type', async () => {
      const rendered = renderChart(REQUIRED)
      for (const [field, wrong] of [
        ['replicas: 2', 'replica: 2'],
        ['replicas: 2', 'replicas: two'],
      ] as const) {
        expect(rendered).toContain(field)
        await expect(validate(rendered.replace(field, wrong), '1.37')).rejects.toThrow(
          /did not validate .*(replica|two)/,
        )
      }
    })
  })
})
