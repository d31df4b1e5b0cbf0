/**
 * Reads the files and folders that a configuration is made of.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { SourceFile } from './source-documents.ts'

const STANDARD_INPUT = '-'

/**
 * The files that paths name, in their order: a file; of a folder `*.yaml`, `*.yml` and `*.json` by name, and not those of its folders; `-`
 * is standard input.
 *
 * @throws {Error} if one cannot be read, or a folder has none.
 */
export async function readSourceFiles(paths: readonly string[], input?: NodeJS.ReadableStream): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  for (const path of paths) {
    if (path === STANDARD_INPUT) {
      const typed = input === undefined ? '' : await text(input as AsyncIterable<Uint8Array>)
      files.push({ name: '(standard input)', text: typed })
    } else
      for (const name of await filesAt(path)) files.push({ name, text: await reading(name, readFile(name, 'utf8')) })
  }
  return files
}

async function filesAt(path: string): Promise<string[]> {
  if (!(await reading(path, stat(path))).isDirectory()) return [path]
  const entries = await reading(path, readdir(path))
  const names = entries.filter((name) => /\.(?:ya?ml|json)$/.test(name) && !name.startsWith('.')).sort()
  if (names.length === 0) throw new Error(`${path} has no file *.yaml, *.yml or *.json`)
  return names.map((name) => join(path, name))
}

async function reading<T>(path: string, work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
    throw new Error(`cannot read ${path}${code}`, { cause })
  })
}
