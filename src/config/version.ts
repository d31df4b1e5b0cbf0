/** The version of this program, as `package.json` has it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  const version = (manifest as { readonly version?: unknown }).version
  return typeof version === 'string' ? version : 'unknown'
}
