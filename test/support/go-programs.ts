/**
 * Programs that CONTRIBUTING.md says to build with Go: on the PATH, or where Go installs programs.
 */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const { GOBIN, GOPATH, PATH = '' } = process.env
const FOLDERS = [
  ...PATH.split(delimiter),
  ...(GOBIN ? [GOBIN] : []),
  ...(GOPATH ? [join(GOPATH, 'bin')] : []),
  join(homedir(), 'go/bin'),
]

/** The environment with these programs on the PATH, if they are anywhere. */
export const GO_PROGRAMS_ENV = { ...process.env, PATH: FOLDERS.join(delimiter) }

/** Which of these programs there are not, for people; undefined if there are all. */
export function missingGoPrograms(...names: readonly string[]): string | undefined {
  const missing = names.filter((name) => !FOLDERS.some((folder) => existsSync(join(folder, name))))
  return missing.length === 0 ? undefined : `there is no ${missing.join(' and no ')}`
}
