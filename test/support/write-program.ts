import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes a program of a shell, which stands in for another one. Returns its path. */
export function writeProgram(folder: string, name: string, script: string): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}
