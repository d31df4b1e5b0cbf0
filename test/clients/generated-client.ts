/**
 * Runs clients that other languages generate from `gen/proto/`, with the commands of `docs/clients.md`, against a real server.
 */
import { readFileSync } from 'node:fs'
import { cp, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { cannotInstall, type ForeignTools, missing, type Shell, shellIn } from '../support/foreign-tools.ts'
import { type Keyturn, removeFolder, requestToken, startKeyturn, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What each program prints about a rotation, and about the errors that it provokes. */
const ROTATION = `created STATE_INITIAL ES256
activated STATE_ACTIVE
listed STATE_INACTIVE STATE_ACTIVE
refused WEB_KEY_ACTIVE keyturn
invalid key_id
deleted
`

/** How a language makes and runs its client. Commands are for bash, in a copy of `folder` with `proto` beside the program. */
export interface GeneratedClient extends ForeignTools {
  /** The heading of its section in `docs/clients.md`, whose first shell block generates the code. */
  readonly language: string
  /** Below `test/clients`: the program, and the versions of what it needs. Without a program there is none. */
  readonly folder?: string
  /** Compiles the program and what was generated. */
  readonly build?: string
  /** Runs the program; without it there is nothing to run the code with, and generating is all that is tested. */
  readonly run?: string
}

/** The tests of one language. @param more Further tests, in the folder with the generated code. */
export async function testGeneratedClient(client: GeneratedClient, more?: (shell: Shell) => void): Promise<void> {
  const folder = await temporaryFolder()
  if (client.folder !== undefined) await cp(join(import.meta.dirname, client.folder), folder, { recursive: true })
  await symlink(join(ROOT, 'gen/proto'), join(folder, 'proto'))
  const shell = shellIn(folder, client.language)
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
    }, 600_000)
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

/** The commands that the documentation has for a language. */
function commandsOf(language: string): string {
  const page = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8')
  const section = page.split(/^## /m).find((text) => text.startsWith(`${language}\n`))
  const commands = /^```sh\n(.*?)^```$/ms.exec(section ?? '')?.[1]
  if (commands === undefined) throw new Error(`docs/clients.md has no commands for ${language}`)
  return commands
}
