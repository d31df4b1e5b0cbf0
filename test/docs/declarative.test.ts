/**
 * Runs every command of `docs/declarative.md`, in its order, and the steps of its job of GitHub Actions.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type JWTPayload, SignJWT } from 'jose'
import { parse } from 'yaml'
import { runInShell, runOfPage } from '../support/page-shell.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/declarative.md'), 'utf8')
const ISSUER = 'https://token.actions.githubusercontent.com'

const BLOCKS = [...PAGE.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({
  language,
  code,
}))

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

let terminal: Terminal
let folder: string
beforeAll(async () => {
  terminal = await openTerminal()
  folder = join(terminal.server.dataDir, 'page')
  await mkdir(folder)
})
afterAll(() => terminal?.close())

/** Text of the page, for the server of the test. */
function filledIn(code: string): string {
  const jwk = JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: 'ci', use: 'sig' })
  return code
    .replaceAll('https://tokens.example.com', terminal.server.baseUrl)
    .replaceAll('/var/lib/stock', folder)
    .replace('{ discovery: {} }', `{ jwks: '{"keys":[${jwk}]}' }`)
}

/** The service of GitHub that gives a job its JWT. */
async function startTokenService(claims: JWTPayload) {
  const server = createServer(async (request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    const payload = { ...claims, aud: searchParams.get('audience') ?? '', jti: randomUUID() }
    const jwt = await new SignJWT(payload)
      .setProtectedHeader({ alg: 'RS256', kid: 'ci' })
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
    response.end(JSON.stringify(request.headers.authorization === 'Bearer of-the-job' ? { value: jwt } : {}))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/?api-version=2`,
    close: () => new Promise((closed) => server.close(closed)),
  }
}

interface Step {
  readonly if?: string
  readonly run?: string
}

describe('the commands of the page about configuration in files', () => {
  it('work as they stand there', async () => {
    const failures: object[] = []
    let planned = ''
    for (const { language, code } of BLOCKS) {
      const [, name] = /^# ([\w-]+\.yaml)\n/.exec(code) ?? []
      if (name !== undefined) await writeFile(join(folder, name), filledIn(code))
      if (language !== 'sh') continue
      for (const command of filledIn(code).trim().split('\n')) {
        const ended = await runOfPage(command, { folder, env: { KEYTURN_DATA_DIR: terminal.server.dataDir } })
        if (ended.code !== 0 || ended.stderr !== '') failures.push({ command, ...ended })
        if (planned === '') planned = ended.stdout
      }
    }
    expect(failures).toEqual([])
    // What the page shows of the first plan.
    expect(BLOCKS.map(({ code }) => code.replace(/version \d+/, 'version N'))).toContain(
      planned.replace(/version \d+/, 'version N'),
    )
  })

  it('make the user of the job, whose steps plan and apply with its JWT', async () => {
    const workflow = parse(BLOCKS.find(({ code }) => code.startsWith('# .github/'))?.code ?? '')
    const { steps, env } = workflow.jobs.apply as { steps: Step[]; env: Record<string, string> }
    await mkdir(join(folder, 'keyturn'))
    await copyFile(join(folder, 'shop.yaml'), join(folder, 'keyturn/shop.yaml'))
    await writeFile(join(folder, 'keyturn/more.yaml'), 'projects: [{ name: more }]\n')
    const github = await startTokenService({
      iss: ISSUER,
      sub: 'repo:shop/platform:environment:production',
      repository_id: '456789',
      repository_owner_id: '123456',
      ref: 'refs/heads/main',
      event_name: 'push',
    })
    const files = { GITHUB_ENV: join(folder, 'github-env'), GITHUB_OUTPUT: join(folder, 'github-output') }
    for (const file of Object.values(files)) await writeFile(file, '')
    const variables: Record<string, string> = {
      ...files,
      GITHUB_SHA: '0a1b2c3d4e5f60718293a4b5c6d7e8f901234567',
      KEYTURN_BASE_URL: filledIn(env.KEYTURN_BASE_URL ?? ''),
      ACTIONS_ID_TOKEN_REQUEST_URL: github.url,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job',
      // The job has nothing but its JWT.
      KEYTURN_DATA_DIR: join(folder, 'nothing'),
    }
    const outputs: string[] = []
    try {
      for (const { run, if: condition } of steps) {
        const output = await readFile(files.GITHUB_OUTPUT, 'utf8')
        if (run === undefined || (condition !== undefined && !output.includes('code=2\n'))) continue
        const { code, stdout, stderr } = await runInShell(run, { folder, env: variables })
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        outputs.push(stdout)
        const [, token = ''] = /^KEYTURN_TOKEN=(.*)$/m.exec(await readFile(files.GITHUB_ENV, 'utf8')) ?? []
        variables.KEYTURN_TOKEN = token
      }
      expect(outputs).toHaveLength(3)
      expect(outputs[2]).toContain('applied: 1 created')
    } finally {
      await github.close()
    }
  })
})
