/**
 * Runs what the documentation tells people to run, in its order, against a real server, with the placeholders filled in from
 * what earlier commands printed.
 */
import { readFileSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Keyturn, removeFolder, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { runOfPage } from '../support/page-shell.ts'
import type { Ended } from '../support/terminal.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** In the order in which a reader meets them; later ones use what earlier ones made. */
const PAGES = [
  'README.md',
  'docs/roles.md',
  'docs/onboarding.md',
  'docs/rotating-a-secret.md',
  'docs/choosing-credentials.md',
  'docs/rotation.md',
  'docs/verifying-tokens.md',
  'docs/bound-tokens.md',
]

/** How the output of a command says what a placeholder stands for from then on. The first group is the value. */
const VALUES: Readonly<Record<string, RegExp>> = {
  OLD_KEY_ID: /^(\S{43}) +\S+ +ACTIVE/m,
  STANDBY_KEY_ID: /^(\S{43}) +\S+ +INITIAL/m,
  KEY_ID: /^created (\S{43}) \(/m,
  CLIENT_ID: /^created (\S+@\S+)$/m,
  USER_ID: /^created (\S+)@\S+$/m,
  OLD_SECRET_ID: /^SECRET ID.*\n(\S{36}) /m,
  TOKEN_ID: /^token id +(\S{36})$/m,
  ACCESS_TOKEN: /^(eyJ\S+)$/m,
  PERSONAL_ACCESS_TOKEN: /^token +(ktn_pat_\S+)$/m,
  PROJECT_ID: /^created billing \((\S{36})\)$/m,
}

let server: Keyturn
let folder: string
const values = new Map<string, string>()
beforeAll(async () => {
  folder = await temporaryFolder()
  // An embedded database, which one of the pages is about.
  server = await startKeyturnInProcess({ dataDir: await temporaryFolder() })
  // Where the examples find their packages, as in a project that has installed them.
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(async () => {
  await server?.stop()
  if (server !== undefined) await removeFolder(server.dataDir)
  await removeFolder(folder)
})

interface Block {
  readonly language: string
  readonly text: string
}

function blocksOf(page: string): Block[] {
  const markdown = readFileSync(join(ROOT, page), 'utf8')
  // A block of a list is indented.
  return [...markdown.matchAll(/^( *)```(\w+)\n(.*?)^\1```$/gms)].map(([, , language = '', code = '']) => ({
    language,
    text: code,
  }))
}

/** The commands of a shell block: a line, and those that a backslash adds to it. */
function commandsOf({ text: code }: Block): string[] {
  return code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
}

/** What is run of a page. The README also says how to start a server, which is done already. */
function runnable(page: string, command: string): boolean {
  return page !== 'README.md' || /^npx (keyturn|buf curl) /.test(command)
}

function filledIn(code: string): string {
  let filled = code.replaceAll('http://localhost:8080', server.baseUrl)
  // Longer names first: some contain others.
  for (const name of Object.keys(VALUES).sort((a, b) => b.length - a.length)) {
    filled = filled.replace(new RegExp(`\\b${name}\\b`, 'g'), values.get(name) ?? name)
  }
  return filled
}

function run(command: string): Promise<Ended> {
  const env = { TOKEN: values.get('ACCESS_TOKEN') ?? '', KEYTURN_DATA_DIR: server.dataDir }
  return runOfPage(command, { folder, env })
}

/**
 * Runs every command of a page and returns those that failed. What the page made first is what a reader goes on to the next
 * page with.
 */
async function runPage(page: string): Promise<object[]> {
  const failures: object[] = []
  const first = new Map<string, string>()
  for (const block of blocksOf(page)) {
    if (block.language === 'js') {
      const [, name = ''] = /^\/\/ (\S+\.mjs)\n/.exec(block.text) ?? []
      await writeFile(join(folder, name), filledIn(block.text))
    }
    if (block.language !== 'sh') continue
    for (const command of commandsOf(block).filter((line) => runnable(page, line))) {
      const { code, stdout, stderr } = await run(filledIn(command))
      // Activating a key at once is warned about, as the README says.
      const complaint = stderr.replace(
        /^(warning: |there are older events: |the \w+ is not shown again|the credentials were written ).*\n/gm,
        '',
      )
      if (code !== 0 || complaint !== '') failures.push({ command, code, stdout, stderr })
      for (const [name, pattern] of Object.entries(VALUES)) {
        const value = pattern.exec(stdout)?.[1]
        if (value === undefined) continue
        values.set(name, value)
        if (!first.has(name)) first.set(name, value)
      }
    }
  }
  for (const [name, value] of first) values.set(name, value)
  return failures
}

describe('the commands of the documentation', () => {
  it.each(PAGES)('%s work as they stand there', async (page) => {
    // Standbys are made an hour after a change, and this page says what to do with one after it has replaced another.
    if (page === 'docs/rotation.md') for (const _ of [1, 2]) await run('npx keyturn keys create')
    expect(await runPage(page)).toEqual([])
  })

  it('lead to tokens that the verifier of the last page takes, and reads the role from', async () => {
    const driver = `
      import { hasRole, verify } from './verify.mjs'
      const claims = await verify(process.env.TOKEN)
      console.log(claims.client_id, hasRole(claims, 'reader'), hasRole(claims, 'admin'))`
    const scope = 'openid urn:service:iam:org:projects:roles'
    const { stdout, stderr } = await run(
      `TOKEN=$(npx keyturn token --credentials invoices-new.secret.json --scope '${scope}') node --input-type=module -e "${driver}"`,
    )
    expect({ stdout, stderr }).toEqual({ stdout: `${values.get('CLIENT_ID')} true false\n`, stderr: '' })
  })

  it('docs/master-keys.md work as they stand there, with an embedded database while no server uses it', async () => {
    await server.stop()
    try {
      expect(await runPage('docs/master-keys.md')).toEqual([])
    } finally {
      server = await startKeyturnInProcess({ dataDir: server.dataDir })
    }
    const commands = blocksOf('docs/master-keys.md').filter(({ language }) => language === 'sh')
    expect(commands.map(({ text: code }) => code.trim())).toEqual(
      ['generate', 'status', 'rotate'].map((command) => `npx keyturn master-key ${command}`),
    )
  })
})
