/**
 * Fails when `gen/` is not what `npm run generate` makes of `proto/`.
 *
 * Generates into a folder beside it and compares, so that the check never changes the tree.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const fresh = mkdtempSync(join(tmpdir(), 'keyturn-gen-'))
try {
  execFileSync(process.execPath, ['scripts/generate.ts', fresh], { stdio: 'inherit' })
  const differing = differences('gen', join(fresh, 'gen'))
  if (differing.length > 0) {
    console.error(`gen/ is out of date: ${differing.join(', ')}. Run "npm run generate" and commit the result.`)
    process.exitCode = 1
  }
} finally {
  rmSync(fresh, { recursive: true })
}

function differences(committed: string, generated: string): string[] {
  const names = new Set([...files(committed), ...files(generated)])
  return [...names].filter((name) => read(committed, name) !== read(generated, name)).sort()
}

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

function read(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), 'utf8')
  } catch {
    return undefined
  }
}
