/**
 * What the command line is as a process. What the commands print and do is tested in `test/api/cli`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { eventually } from '../../support/eventually.ts'
import { removeFolder, runKeyturn, spawnKeyturn, temporaryFolder } from '../../support/keyturn.ts'
import { sharedPostgres } from '../../support/new-database.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { openTerminal, type Terminal } from '../../support/terminal.ts'
import { itUnless } from '../../support/unless.ts'
import { CONTROL_C, CONTROL_D, NO_TERMINAL, runAtTerminal } from './pseudo-terminal.ts'

const MAIN = join(import.meta.dirname, '../../../src/cli/keyturn.js')

let postgres: TestPostgres
let env: Record<string, string>
let terminal: Terminal
let folder: string
beforeAll(async () => {
  postgres = sharedPostgres()
  env = { KEYTURN_DATABASE_URL: await postgres.createMigratedDatabase(), KEYTURN_MASTER_KEYS: generateMasterKey() }
  terminal = await openTerminal({ env })
  folder = await temporaryFolder()
})
afterAll(async () => {
  await terminal?.close()
  await postgres?.stop()
  await removeFolder(folder)
})

it('"npx keyturn" runs it in the checkout', async () => {
  const child = spawn('npx', ['--no-install', 'keyturn', '--help'], {
    cwd: resolve(import.meta.dirname, '../../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  expect({ code, stdout }).toEqual({ code: 0, stdout: (await runKeyturn(['--help'])).stdout })
})

it('a server with files that cannot be used names them all before anything starts, with the exit code 2', async () => {
  const empty = join(folder, 'empty')
  await mkdir(empty)
  const { code, stdout, stderr } = await runKeyturn(['serve'], {
    KEYTURN_LISTEN: '127.0.0.1:0',
    KEYTURN_METRICS_LISTEN: 'off',
    KEYTURN_DATA_DIR: join(empty, 'data'),
    KEYTURN_MASTER_KEYS_FILE: join(empty, 'no-master-keys'),
    KEYTURN_TLS_CERT_FILE: join(empty, 'no-cert'),
    KEYTURN_TLS_KEY_FILE: join(empty, 'no-key'),
  })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('no-master-keys')
  expect(stderr).toContain('no-cert')
  expect(await readdir(empty)).toEqual([])
})

describe('a question at a terminal', () => {
  const answer = (typed: string) =>
    runAtTerminal(['keys', 'create', 'rsa', '--hasher', 'SHA384'], { KEYTURN_DATA_DIR: terminal.server.dataDir }, typed)

  itUnless(NO_TERMINAL)('is answered by no with Ctrl-C and Ctrl-D, and by yes with the key that is typed', async () => {
    for (const [typed, code, shown] of [
      [CONTROL_C, 1, 'keyturn: nothing was changed'],
      [CONTROL_D, 1, 'keyturn: nothing was changed'],
      ['y\r', 0, '(RS384), initial'],
    ] as const) {
      const ended = await answer(typed)
      expect({ typed, code: ended.code }).toEqual({ typed, code })
      expect(ended.shown).toContain('no web key has the algorithm RS384 yet: ')
      expect(ended.shown).toContain('Go on? [y/N] ')
      expect(ended.shown).toContain(shown)
    }
  })
})

itUnless(NO_TERMINAL)('a secret that is typed at a terminal stays invisible, and errors are red', async () => {
  const { base_url, client_id } = await terminal.server.admin()
  const login = ['login', base_url, '--client-id', client_id]
  const { code, shown } = await runAtTerminal(login, { HOME: folder, TERM: 'xterm' }, 'not-the-secret\r')
  expect(code).toBe(1)
  expect(shown).toMatch(/^Client secret: \r?\n/)
  expect(shown).toContain('\u001b[31mkeyturn:\u001b[39m no token: invalid_client')
  expect(shown).not.toContain('not-the-secret')
})

it('a new secret whose file cannot be written is deleted again', async () => {
  const { projects } = await terminal.call<{ projects: { projectId: string }[] }>(
    'iam.project.v2.ProjectService/ListProjects',
    {},
  )
  const { serviceUser } = await terminal.call<{ serviceUser: { userId: string } }>(
    'iam.user.v2.ServiceUserService/CreateServiceUser',
    { projectId: projects[0]!.projectId, name: 'invoices' },
  )
  const path = join(folder, 'full.json')
  const args = ['secrets', 'generate', serviceUser.userId, '--out', path]
  // Files may not have a single byte.
  const child = spawn('sh', ['-c', 'ulimit -f 0 && exec "$0" "$@"', process.execPath, MAIN, ...args], {
    env: { PATH: process.env.PATH, KEYTURN_DATA_DIR: terminal.server.dataDir },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  const left = await terminal.call<{ secrets?: object[] }>('iam.user.v2.ServiceUserService/ListClientSecrets', {
    userId: serviceUser.userId,
  })
  expect([code, stderr]).toEqual([1, `keyturn: cannot write ${path} (EFBIG); the secret was deleted again\n`])
  expect(left.secrets ?? []).toEqual([])
  await expect(stat(path)).rejects.toThrow('ENOENT')
})

it('a command that is interrupted ends the command for the master keys, and then by the signal', async () => {
  const pidFile = join(folder, 'pid')
  const child = spawnKeyturn(['master-key', 'status'], {
    KEYTURN_DATABASE_URL: env.KEYTURN_DATABASE_URL!,
    KEYTURN_MASTER_KEYS_COMMAND: JSON.stringify(['/bin/sh', '-c', `echo $$ > ${pidFile}; exec sleep 600`]),
  })
  const exited = once(child, 'exit')
  const pid = await eventually(async () => {
    const written = await readFile(pidFile, 'utf8')
    expect(written).toMatch(/^\d+\n$/)
    return Number(written)
  })
  child.kill('SIGINT')
  await exited
  expect(child.signalCode).toBe('SIGINT')
  try {
    // Gone, or a zombie that no process has waited for.
    await eventually(async () => expect(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).toBe(''))
  } finally {
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
  }
})
