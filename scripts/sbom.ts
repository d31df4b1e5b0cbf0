/**
 * Writes the software bill of materials of what is shipped to the standard output: every package that
 * `npm ci --omit=dev` installs, with version, licence and SHA-512, as CycloneDX.
 *
 * The image's base is not in it: the image names that by its digest.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readLock } from './lock-file.ts'

/** Its page is built into the package, with the licences of what is in it. */
const CONSOLE = 'node_modules/@keyturn/console'

const { devDependencies: _, workspaces: __, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8'))
const lock = readLock()
const { '': root, ...packages } = lock.packages
const shipped = Object.fromEntries(
  Object.entries(packages)
    .filter(([path, { dev }]) => path.startsWith('node_modules/') && path !== CONSOLE && dev !== true)
    // A user has a workspace as any other package, in the place of its link.
    .map(([path, entry]) => [path, entry.link ? packages[entry.resolved ?? ''] : entry]),
)

// Not `npm sbom --omit=dev`: that leaves out what is shipped and also needed for development, such as jose and pg.
const parent = mkdtempSync(join(tmpdir(), 'keyturn-sbom-'))
try {
  // npm names the root of the document after the folder.
  const folder = join(parent, manifest.name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ ...lock, packages: { '': { ...root, devDependencies: {}, workspaces: [] }, ...shipped } }),
  )
  execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'], {
    cwd: folder,
    stdio: 'inherit',
  })
} finally {
  rmSync(parent, { recursive: true })
}
