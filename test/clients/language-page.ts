/**
 * Runs the pages of `docs/clients/` as they are, against a real server: writes the programs into a folder, runs the shell blocks in
 * order, and looks at what they print.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { InstanceRole } from '../../gen/iam/user/v2/service_user_pb.js'
import { administrationOf } from '../support/administration.ts'
import { missing } from '../support/foreign-tools.ts'
import { type Keyturn, removeFolder, requestToken, startKeyturnInProcess, temporaryFolder } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')
/** What outlives a run, such as downloaded packages. */
const CACHE = join(ROOT, 'node_modules/.cache/keyturn-clients/pages')
/** For people and compilers; a download may take long. */
const TIMEOUT_MILLIS = 600_000

/** One page. */
export interface LanguagePage {
  /** Of the file in `docs/clients/`, without its ending. */
  readonly name: string
  /** The runtime, if it is another than that of the page. */
  readonly runsOn?: string
  /** What must be there: commands that fail if it is not, by what to call it. */
  readonly needs: Readonly<Record<string, string>>
  /** Commands of the page that are replaced, such as one that installs what is not published yet. */
  readonly instead?: Readonly<Record<string, string>>
  /** Whether the page has programs that list the keys. Default true; a service is tested by further tests. */
  readonly lists?: boolean
  /** Whether the page prints the roles of a token. Default false. */
  readonly roles?: boolean
  /** How the page verifies a token from standard input. Undefined if it does not. */
  readonly verify?: string
}

/** A page that runs. */
export interface RunningPage {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly server: Keyturn
  readonly userId: string
  readonly projectId: string
  /** Runs commands as the page does, and returns what they print. @throws {Error} with all that they print, if they fail. */
  shell(commands: string, input?: string): Promise<string>
}

interface Block {
  readonly language: string
  readonly code: string
}

/** The tests of one page. @param more Further tests, after the commands of the page. */
export function testLanguagePage(page: LanguagePage, more?: (running: () => RunningPage) => void): void {
  const obstacle = missing(page)
  const title = `docs/clients/${page.name}.md${page.runsOn === undefined ? '' : ` on ${page.runsOn}`}`
  if (obstacle !== undefined) process.stderr.write(`Skipped ${title}: ${obstacle}\n`)

  describeUnless(obstacle)(title, () => {
    let running: RunningPage
    let printed = ''
    beforeAll(async () => {
      running = await start(page)
      for (const { language, code } of blocksOf(page.name)) {
        const file = fileOf(code)
        if (file !== undefined) await place(join(running.folder, file), code)
        else if (language === 'sh') printed += await running.shell(page.instead?.[code.trim()] ?? code)
        else throw new Error(`a block of the page has no name of a file:\n${code}`)
      }
    }, TIMEOUT_MILLIS)
    afterAll(async () => {
      await running?.server.stop()
      if (running === undefined) return
      await removeFolder(running.server.dataDir)
      await removeFolder(running.folder)
    })

    const { lists = true, roles = false, verify } = page
    if (lists) {
      it('gets a token and calls the API with it', () => {
        expect(printed).toMatch(/[\w-]{43}.*RS256/)
      })
    }

    if (verify !== undefined) {
      it('verifies a token', () => {
        expect(printed).toContain(running.userId)
        if (roles) expect(printed).toContain('invoice-reader')
      })

      it('refuses a token for another service, and what is no token', async () => {
        const { CLIENT_ID: client_id, CLIENT_SECRET: client_secret } = running.env as { [name: string]: string }
        const credentials = { ...(await running.server.admin()), client_id: client_id!, client_secret: client_secret! }
        const other = await requestToken(credentials)
        for (const token of [other, 'x.y.z', '']) await expect(running.shell(verify, token)).rejects.toThrow()
        // The same way accepts a good one.
        expect(await running.shell(verify, await requestToken(credentials, 'openid'))).toContain(running.userId)
      })
    }
    more?.(() => running)
  })
}

async function start(page: LanguagePage): Promise<RunningPage> {
  const server = await startKeyturnInProcess()
  const folder = await temporaryFolder()
  const { projects, users } = await administrationOf(server)
  const { project } = await projects.createProject({ name: 'billing' })
  const projectId = project!.projectId
  const created = await users.createServiceUser({ projectId, name: 'invoices', clientCredentialsEnabled: true })
  const { userId, clientId } = created.serviceUser!
  await projects.addProjectRole({ projectId, role: 'invoice-reader' })
  await users.grantProjectRole({ userId, projectId, role: 'invoice-reader' })
  await users.setInstanceRoles({ userId, instanceRoles: [InstanceRole.IAM_OWNER_VIEWER] })
  const { clientSecret } = await users.generateClientSecret({ userId })
  const cache = join(CACHE, page.name)
  mkdirSync(cache, { recursive: true })
  const env = {
    ISSUER: server.baseUrl,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    AUDIENCE: projectId,
    CACHE: cache,
    PAGE: join(import.meta.dirname, page.name),
    PATH: [join(cache, 'bin'), process.env.PATH].join(delimiter),
  }
  const shell = async (commands: string, input = ''): Promise<string> => {
    const options = { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 }
    const run = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options)
    // A program may end before it has read its input.
    run.child.stdin?.on('error', () => {}).end(input)
    try {
      return (await run).stdout
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${commands}\n${stdout}${stderr}`)
    }
  }
  return { folder, env, server, userId, projectId, shell }
}

function blocksOf(name: string): Block[] {
  const text = readFileSync(join(ROOT, `docs/clients/${name}.md`), 'utf8')
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({ language, code }))
}

/** The name in the comment at the beginning of a program. */
function fileOf(code: string): string | undefined {
  return /^(?:\/\/|#|<!--) ([\w./-]+\.\w+)(?: -->)?\n/.exec(code)?.[1]
}

async function place(file: string, code: string): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  await writeFile(file, code)
}
