/**
 * A PostgreSQL server in a folder of its own, as a child process.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { TEST_PASSWORD } from './new-database.ts'
import type { PostgresPrograms } from './postgres-programs.ts'
import { giveTo, type SpawnUser } from './system-user.ts'

const INITDB = ['-U', 'postgres', '-A', 'password', '-N', '-E', 'UTF8', '--lc-messages=C']
// Four test files at a time, with up to six servers of eleven connections each.
const FLAGS = [
  'fsync=off',
  'full_page_writes=off',
  'unix_socket_directories=',
  'max_connections=500',
  'listen_addresses=127.0.0.1',
]
const ATTEMPTS = 3
const run = promisify(execFile)

/** Starts it on a free port, as this user. Stopping it leaves the folder, which is the user's, to the caller. */
export async function startPostgresProcess(programs: PostgresPrograms, owner: SpawnUser, folder: string) {
  const passwordFile = join(folder, 'password')
  const data = join(folder, 'data')
  await writeFile(passwordFile, TEST_PASSWORD)
  await giveTo(owner, passwordFile)
  const initdb = ['-D', data, '--pwfile', passwordFile, ...INITDB]
  await run(programs.initdb, initdb, { ...owner, cwd: folder })
  await rm(passwordFile)

  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const args = ['-D', data, '-p', String(port), ...FLAGS.flatMap((flag) => ['-c', flag])]
    const child = spawn(programs.postgres, args, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    await once(child, 'spawn')
    const exited = once(child, 'exit')
    const stop = async () => {
      // Fast: connections that are open are cut.
      child.kill('SIGINT')
      await exited
    }
    const output = await untilReady(child)
    if (child.exitCode === null) return { stop, port }
    // Another process may have taken the port since it was free.
    if (attempt < ATTEMPTS && output.includes('could not bind')) continue
    throw new Error(`PostgreSQL did not start:\n${output}`)
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
