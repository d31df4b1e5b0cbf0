/**
 * Runs clients that other languages generate from `gen/proto/`, with the commands of `docs/clients.md`, against a real server.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { cp, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Keyturn, removeFolder, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { SHORT_LIVED_JVM } from '../support/short-lived-jvm.ts'
import { describeUnless } from '../support/unless.ts'
import { requestToken } from '../support/web-key-client.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What outlives a run, such as installed packages. Removing it costs nothing but time. */
const CACHE = join(ROOT, 'node_modules/.cache/keyturn-clients')

/** What each program prints about a rotation, and about the errors that it provokes. */
const ROTATION = `created STATE_INITIAL ES256
activated STATE_ACTIVE
listed STATE_INACTIVE STATE_ACTIVE
refused WEB_KEY_ACTIVE keyturn
invalid key_id
deleted
`

/** How a language makes and runs its client. Commands are for bash, in a copy of `folder` with `proto` beside the program. */
export interface GeneratedClient {
  /** The heading of its section in `docs/clients.md`, whose first shell block generates the code. */
  readonly language: string
  /** Below `test/clients`: the program, and the versions of what it needs. Without a program there is none. */
  readonly folder?: string
  /** What must be there: commands that fail if it is not, by what to call it. */
  readonly needs: Readonly<Record<string, string>>
  /** Gets the packages of the language into `$CACHE`. If that fails, the tests are skipped. */
  readonly install?: string
  /** Compiles the program and what was generated. */
  readonly build?: string
  /** Runs the program; without it there is nothing to run the code with, and generating is all that is tested. */
  readonly run?: string
}

/** Runs commands in a folder and returns what they print. @throws {Error} with all that they print, if they fail. */
export type Shell = (commands: string, env?: Readonly<Record<string, string>>) => Promise<string>

/** The tests of one language. @param more Further tests, in the folder with the generated code. */
export async function testGeneratedClient(client: GeneratedClient, more?: (shell: Shell) => void): Promise<void> {
  const folder = await temporaryFolder()
  if (client.folder !== undefined) await cp(join(import.meta.dirname, client.folder), folder, { recursive: true })
  await symlink(join(ROOT, 'gen/proto'), join(folder, 'proto'))
  const shell = shellIn(folder, client)
  const obstacle = missing(client) ?? (await cannotInstall(client, shell))
  if (obstacle !== undefined) {
    // Jest does not show the names of tests of a file in which all are skipped, and runs nothing after them.
    process.stderr.write(`Skipped the client in ${client.language}: ${obstacle}\n`)
    await removeFolder(folder)
  }

  describeUnless(obstacle)(`a client that is generated in ${client.language}`, () => {
    beforeAll(async () => {
      await shell(commandsOf(client.language))
      if (client.build !== undefined) await shell(client.build)
    }, 300_000)
    afterAll(() => removeFolder(folder))

    if (client.run !== undefined) testRotation(client.run, shell)
    more?.(shell)
  })
}

function testRotation(run: string, shell: Shell): void {
  let server: Keyturn
  beforeAll(async () => {
    server = await startKeyturn()
  })
  afterAll(async () => {
    await server?.stop()
    if (server !== undefined) await removeFolder(server.dataDir)
  })

  it('rotates a key with the four methods of the beta, and reads why a call is refused', async () => {
    const token = await requestToken(await server.admin())
    const target = new URL(server.listenUrl).host
    expect(await shell(run, { KEYTURN_TARGET: target, KEYTURN_TOKEN: token })).toBe(ROTATION)
  })
}

/** What the machine lacks, for people. */
function missing({ needs }: GeneratedClient): string | undefined {
  const names = Object.entries(needs).flatMap(([name, command]) => {
    try {
      execFileSync('bash', ['-c', command], { stdio: 'ignore' })
      return []
    } catch {
      return [name]
    }
  })
  return names.length === 0 ? undefined : `there is no ${names.join(' and no ')}`
}

async function cannotInstall({ install }: GeneratedClient, shell: Shell): Promise<string | undefined> {
  if (install === undefined) return undefined
  try {
    await shell(install)
    return undefined
  } catch (error) {
    const lines = String(error).trim().split('\n')
    return `its packages cannot be installed: ${lines.at(-1)}`
  }
}

/** The commands that the documentation has for a language. */
function commandsOf(language: string): string {
  const page = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
  const section = page.split(/^## /m).find((text) => text.startsWith(`${language}\n`))
  const commands = /^```sh\n(.*?)^```$/ms.exec(section ?? '')?.[1]
  if (commands === undefined) throw new Error(`docs/clients.md has no commands for ${language}`)
  return commands
}

function shellIn(cwd: string, { language }: GeneratedClient): Shell {
  const cache = join(CACHE, language)
  mkdirSync(cache, { recursive: true })
  const tools = {
    PATH: [join(cache, 'bin'), process.env.PATH].join(delimiter),
    CACHE: cache,
    MAVEN_OPTS: [SHORT_LIVED_JVM, process.env.MAVEN_OPTS].join(' '),
  }
  return async (commands, env = {}) => {
    const options = { cwd, env: { ...process.env, ...tools, ...env }, maxBuffer: 16 * 1024 * 1024 }
    try {
      return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options)).stdout
    } catch (error) {
      // Maven says on standard output what is wrong.
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${commands}\n${stdout}${stderr}`)
    }
  }
}
