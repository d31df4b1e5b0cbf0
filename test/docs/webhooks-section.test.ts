/**
 * The receiver and the commands of `docs/events.md`, as a reader uses them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { createAuthority } from '../support/server-certificates.ts'
import { openTerminal, type Terminal } from '../support/terminal.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8')
const section = /^## Webhooks\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(page)?.[1] ?? ''
const commands = [...section.matchAll(/^keyturn (webhooks .+)$/gm)].map(([, command = '']) => command)
const program = /^```js\n(.*?)^```$/ms.exec(section)?.[1] ?? ''

const authority = createAuthority()
let terminal: Terminal
let folder: string
let receiver: WebhookReceiver
let ca: string
beforeAll(async () => {
  folder = await temporaryFolder()
  ca = join(folder, 'ca.pem')
  await writeFile(ca, authority.cert)
  receiver = await startReceiver(authority)
  terminal = await openTerminal({ env: { KEYTURN_OUTBOUND_NETWORKS: '127.0.0.1, ::1' } })
})
afterAll(async () => {
  await terminal?.close()
  await receiver?.stop()
  await removeFolder(folder)
})

/** The arguments of a command of the page, for the receiver of the test. */
function argumentsOf(command: string): string[] {
  const args = command.split(' ').map((word) => word.replaceAll("'", '').replace(/^https:\/\/.*/, receiver.url))
  return args[1] === 'create' ? [...args, '--receiver-ca', ca] : args
}

/** The receiver of the page as a process, and the lines that it prints. */
async function startProgram(secret: string): Promise<{ child: ChildProcess; lines: string[]; url: string }> {
  const library = dirname(dirname(createRequire(import.meta.url).resolve('standardwebhooks')))
  await mkdir(join(folder, 'node_modules'))
  await symlink(library, join(folder, 'node_modules/standardwebhooks'))
  await writeFile(join(folder, 'receiver.mjs'), program)
  const port = await freePort()
  const env = { PATH: process.env.PATH ?? '', WEBHOOK_SECRET: secret, PORT: String(port) }
  const child = spawn(process.execPath, ['receiver.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line))
  const url = `http://127.0.0.1:${port}/`
  await eventually(() => fetch(url))
  return { child, lines, url }
}

describe('docs/events.md', () => {
  it('has commands that work in its order', async () => {
    expect(commands.length).toBeGreaterThan(4)
    for (const command of commands) await terminal.lines(...argumentsOf(command))
    expect(receiver.received.map(({ event }) => event.type)).toContain('keyturn.webhook.test')
    for (const name of ['siem', 'rotation-bot']) await terminal.lines('webhooks', 'delete', name, '--yes')
  })

  it('has a receiver that takes what Keyturn sends, and refuses what others do', async () => {
    const { secret } = await terminal.json<{ secret: string }>(
      ...['webhooks', 'create', 'mine', receiver.url, '--receiver-ca', ca, '--type', 'keyturn.iam.project.*'],
    )
    const { child, lines, url } = await startProgram(secret)
    try {
      const headersOf = (headers: object) => {
        const signed = Object.entries(headers).filter(([name]) => /^(webhook-|content-type)/.test(name))
        return Object.fromEntries(signed) as Record<string, string>
      }
      // What terminates TLS in front of it.
      receiver.answer(async (response, { headers, body }) => {
        const { status } = await fetch(url, { method: 'POST', headers: headersOf(headers), body })
        response.writeHead(status).end()
      })
      await terminal.lines('projects', 'create', 'shop')
      await eventually(() =>
        expect(lines).toEqual([
          expect.stringMatching(/^\S{36} keyturn\.iam\.project\.v2\.ProjectService\.CreateProject projects\/\S{36}$/),
        ]),
      )
      const { headers, body } = receiver.received.at(-1)!
      const forged = await fetch(url, {
        method: 'POST',
        headers: headersOf(headers),
        body: body.replace('shop', 'shop2').replace('"ok"', '"no"'),
      })
      expect(forged.status).toBe(401)
      expect(lines).toHaveLength(1)
    } finally {
      child.kill()
      await once(child, 'exit')
    }
  })
})
