/**
 * Builds what is published of `packages/`: in `dist` of each, or in a folder that is named, there is then a package whose
 * `package.json` names what is compiled.
 *
 * In a checkout the packages are links of npm to their TypeScript, whose types Node.js strips: they are no part of `node_modules` then.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

interface Manifest {
  readonly private: boolean
  readonly exports: Readonly<Record<string, string>>
}

for (const name of ['verify', 'client']) {
  const folder = join(ROOT, 'packages', name)
  const dist = process.argv[2] === undefined ? join(folder, 'dist') : resolve(process.argv[2], name)
  rmSync(dist, { recursive: true, force: true })
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const options = ['-p', folder, '--outDir', dist, '--noEmit', 'false']
  execFileSync(process.execPath, [compiler, ...options], { stdio: 'inherit' })
  if (name === 'client') bringGeneratedCode(dist)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(published(manifest), null, 2)}\n`)
  cpSync(join(folder, 'README.md'), join(dist, 'README.md'))
  cpSync(join(ROOT, 'LICENSE'), join(dist, 'LICENSE'))
}

function published({ private: _, exports, ...manifest }: Manifest): object {
  const compiled = Object.entries(exports).map(([name, source]) => {
    const path = source.replace('/src/', '/').replace(/\.ts$/, '')
    return [name, { types: `${path}.d.ts`, default: `${path}.js` }]
  })
  return { ...manifest, exports: { ...Object.fromEntries(compiled), './package.json': './package.json' } }
}

/** Copies the code of the API's messages into the package, and makes its imports of `gen` those of the copy. */
function bringGeneratedCode(dist: string): void {
  for (const name of readdirSync(dist).filter((name) => /\.(js|d\.ts)$/.test(name))) {
    const text = readFileSync(join(dist, name), 'utf8')
    writeFileSync(join(dist, name), text.replaceAll("'../../../gen/", "'./gen/"))
  }
  for (const folder of ['google', 'iam'])
    cpSync(join(ROOT, 'gen', folder), join(dist, 'gen', folder), { recursive: true })
}
