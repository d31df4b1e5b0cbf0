import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'

const ROOT = join(import.meta.dirname, '../..')
const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Entry>
}

interface Entry {
  link?: boolean
  resolved?: string
  version: string
  license?: string
  integrity?: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

interface Component {
  name: string
  version: string
  purl: string
  hashes: { alg: string; content: string }[]
  licenses: { license?: { id: string }; expression?: string }[]
}

/** Paths of all that is shipped: walked from package.json as Node.js resolves it, whatever the lock says is for development. */
function shippedPaths(): Set<string> {
  const found = new Set<string>()
  const resolve = (from: string, name: string): string | undefined => {
    for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
      const path = `${base === '' ? '' : `${base}/`}node_modules/${name}`
      if (path in packages) return path
      if (base === '') return undefined
    }
  }
  const walk = (from: string) => {
    const { dependencies, optionalDependencies, peerDependencies } = packages[from]!
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const path = resolve(from, name)
      if (path === undefined || found.has(path)) continue
      found.add(path)
      walk(entryAt(path).path)
    }
  }
  walk('')
  return found
}

/** A workspace in the place of its link. */
function entryAt(path: string) {
  const { link, resolved = path } = packages[path]!
  const target = link ? resolved : path
  return { path: target, ...packages[target]! }
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

describe('the software bill of materials', () => {
  let bom: { bomFormat: string; metadata: { component: { name: string; version: string } }; components: Component[] }

  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['scripts/sbom.ts'], { cwd: ROOT })
    bom = JSON.parse(stdout)
  })

  it('lists exactly what is shipped, also what development needs too', () => {
    const shipped = [...shippedPaths()].map((path) => `${nameOf(path)}@${entryAt(path).version}`)
    expect(shipped.filter((id) => /^(jose|pg|oidc-provider|zod)@/.test(id))).toHaveLength(4)
    expect(bom.components.map(({ name, version }) => `${name}@${version}`).sort()).toEqual([...new Set(shipped)].sort())
  })
})
