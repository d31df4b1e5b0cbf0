/**
 * The commands for Kubernetes in `docs/install.md`, up to the installation: there is no cluster here, so Helm renders what it would install.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { parse } from 'yaml'
import { readConfig } from '../../src/config/read-config.ts'
import { parseMasterKeys } from '../../src/crypto/master-keys.ts'
import { readInitialCredentials } from '../../src/secret-files/initial-credentials.ts'
import { GO_PROGRAMS_ENV } from '../support/go-programs.ts'
import { CHART, type KubernetesObject, kubernetesObjects, NO_HELM, objectOf } from '../support/helm.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What the commands mean here. kubectl writes down its arguments. */
const PROGRAMS = `
npx() { shift; "$NODE" "$MAIN" "$@"; }
kubectl() { echo "$@" >> kubectl.log; }
helm() {
  [ "$1 $3 $4 $5" = "install oci://ghcr.io/keyturn/charts/keyturn --version VERSION" ]
  command helm template "$2" "$CHART" --kube-version 1.37 "\${@:6}" > rendered.yaml
}
`

describeUnless(NO_HELM)('the commands for Kubernetes', () => {
  let folder: string
  let objects: KubernetesObject[]
  const written = (name: string) => readFileSync(join(folder, name), 'utf8')

  beforeAll(async () => {
    folder = await temporaryFolder()
    const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
    const section = page.split(/^## /m).find((text) => text.startsWith('Kubernetes\n')) ?? ''
    const commands = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code]) => code).join('')
    // What comes after it needs the cluster.
    const [installing = ''] = /^.*^helm install [^\n]+\n/ms.exec(commands) ?? []
    const env = { ...GO_PROGRAMS_ENV, NODE: process.execPath, MAIN: join(ROOT, 'src/cli/keyturn.js'), CHART }
    execFileSync('bash', ['-euo', 'pipefail', '-c', PROGRAMS + installing], { cwd: folder, env, stdio: 'pipe' })
    objects = kubernetesObjects(written('rendered.yaml'))
  })
  afterAll(() => removeFolder(folder))

  it('make the Secret that the chart reads, with the files that they made', () => {
    const [create = ''] = written('kubectl.log').split('\n')
    const [, name, ...files] = /^create secret generic (\S+)(.*)$/.exec(create) ?? []
    const keys = [...String(files).matchAll(/--from-file=(\S+)/g)].map(([, key]) => key)
    expect(keys.sort()).toEqual(['admin.json', 'database-url', 'master-keys'])
    const { volumes } = objectOf(objects, 'Deployment').spec.template.spec
    const { sources } = volumes.find((volume: { name: string }) => volume.name === 'secrets').projected
    expect(sources).toMatchObject([
      { secret: { name, items: [{ key: 'database-url', path: 'database-url' }] } },
      { secret: { name, items: [{ key: 'master-keys' }] } },
      { secret: { name, items: [{ key: 'admin.json' }] } },
    ])
  })

  it('make secrets and settings that a server takes', async () => {
    const data = objectOf(objects, 'ConfigMap').data
    const { baseUrl } = readConfig({}, { ...data, KEYTURN_DATABASE_URL_FILE: join(folder, 'database-url') })
    expect(baseUrl).toBe(parse(written('values.yaml')).baseUrl)
    expect(() => parseMasterKeys(written('master-keys'))).not.toThrow()
    await expect(readInitialCredentials(join(folder, 'admin.json'), baseUrl ?? '')).resolves.toBeDefined()
  })
})
