/**
 * The PostgreSQL 15 that Debian 12 installs, started in a folder of its own: what an older server does differently.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { databaseUser, giveTo } from './system-user.ts'

/** The password of the test server, to be looked for in texts where it must not be. */
export const TEST_PASSWORD = 'correct-horse-battery'

const BINARIES = '/usr/lib/postgresql/15/bin'
const ATTEMPTS = 3
const run = promisify(execFile)

/** Why tests that need this server cannot run here; undefined if they can. */
export const WITHOUT_DEBIAN_POSTGRES = existsSync(join(BINARIES, 'postgres'))
  ? undefined
  : `there is no PostgreSQL 15 in ${BINARIES}`

/** Starts it on a free port. Stopping it leaves the folder to the caller. */
export async function startDebianPostgres(folder: string, flags: readonly string[]) {
  const owner = await databaseUser()
  await giveTo(owner, folder)
  const passwordFile = join(folder, 'password')
  const data = join(folder, 'data')
  await writeFile(passwordFile, TEST_PASSWORD)
  await giveTo(owner, passwordFile)
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'password', '--pwfile', passwordFile, '-N', '-E', 'UTF8']
  await run(join(BINARIES, 'initdb'), initdb, owner)
  await rm(passwordFile)

  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const args = ['-D', data, '-p', String(port), ...flags.flatMap((flag) => ['-c', flag])]
    const child = spawn(join(BINARIES, 'postgres'), args, { ...owner, stdio: ['ignore', 'ignore', 'pipe'] })
    const exited = once(child, 'exit')
    const stop = async () => {
      // Fast: connections that are open are cut.
      child.kill('SIGINT')
      await exited
    }
    const output = await untilReady(child)
    if (child.exitCode === null) return { server: { stop }, port }
    // Another process may have taken the port since it was free.
    if (attempt < ATTEMPTS && output.includes('could not bind')) continue
    throw new Error(`PostgreSQL 15 did not start:\n${output}`)
  }
}

/** What the server said until it takes connections or ends. */
function untilReady(child: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve) => {
    let output = ''
    child.stderr?.on('data', (chunk) => {
      output += chunk
      if (output.includes('ready to accept connections')) resolve(output)
    })
    child.once('close', () => resolve(output))
  })
}
