/**
 * Programs that stand in for others in tests of what runs them: they keep what they get, and can be held while they run.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A program that waits. */
export interface HeldProgram {
  /** Resolves when it waits. */
  waits(): Promise<void>
  /** Lets it go on. */
  release(): Promise<void>
}

/** Writes a program of a shell. Returns its path. */
export function writeProgram(folder: string, name: string, script: string): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}

/** Two pipes, and the line of a script in `hold` that waits between them. */
export function holdIn(folder: string, name: string): HeldProgram & { readonly hold: string } {
  mkdirSync(folder, { recursive: true })
  const [started, released] = ['started', 'released'].map((event) => join(folder, `${name}.${event}`)) as [
    string,
    string,
  ]
  execFileSync('mkfifo', [started, released])
  return {
    hold: `echo > '${started}'; read _ < '${released}'`,
    waits: async () => {
      await readFile(started)
    },
    release: () => writeFile(released, '\n'),
  }
}
