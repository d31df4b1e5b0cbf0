import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '../../support/eventually.ts'
import { createAuthority } from '../../support/server-certificates.ts'
import { openTerminal, refuses, says, type Terminal, UUID } from '../../support/terminal.ts'
import { startReceiver, verified, type WebhookReceiver } from '../../support/webhook-receiver.ts'

const authority = createAuthority()

let terminal: Terminal
let receiver: WebhookReceiver
let ca: string
beforeAll(async () => {
  receiver = await startReceiver(authority)
  terminal = await openTerminal({ env: { KEYTURN_OUTBOUND_NETWORKS: '127.0.0.1, ::1' } })
  ca = join(terminal.server.dataDir, 'ca.pem')
  await writeFile(ca, authority.cert)
})
afterAll(async () => {
  await terminal?.close()
  await receiver?.stop()
})

const keyturn = (...args: string[]) => terminal.run('webhooks', ...args)
const lines = (...args: string[]) => terminal.lines('webhooks', ...args)

describe('keyturn webhooks', () => {
  it('creates a webhook, tests it, and says how delivery goes', async () => {
    const created = await lines('create', 'siem', receiver.url, '--receiver-ca', ca, '--type', 'keyturn.iam.project.*')
    const [, secret = ''] = /^secret +(whsec_\S+)$/m.exec(created.join('\n')) ?? []
    expect(await lines('test', 'siem')).toEqual([expect.stringMatching(new RegExp(`^delivered ${UUID} in \\d+ ms$`))])
    await terminal.lines('projects', 'create', 'shop')
    await eventually(() => expect(receiver.received).toHaveLength(2))
    for (const received of receiver.received) expect(verified(secret, received)).toEqual(received.event)
    const shown = (await lines('show', 'siem')).join('\n')
    expect(shown).toMatch(/^event types +keyturn\.iam\.project\.\*$/m)
    expect(shown).toMatch(/^resources +-$/m)
    expect(shown).not.toContain('whsec_')
    expect((await lines('list')).at(-1)).toMatch(/ siem +ENABLED +https:/)
    await eventually(async () =>
      expect((await lines('show', 'siem')).join('\n')).toMatch(/^delivery last success date +2/m),
    )
  })

  it('changes what is named', async () => {
    expect(await keyturn('update', 'siem', '--name', 'other', '--resource', 'projects', 'users')).toEqual(
      says('updated siem'),
    )
    const { webhook } = await terminal.json<{ webhook: object }>('webhooks', 'show', 'other')
    expect(webhook).toMatchObject({
      url: receiver.url,
      resources: ['projects', 'users'],
      caCertificates: authority.cert,
    })
    await lines('update', 'other', '--all-types', '--all-resources', '--no-receiver-ca')
    const after = await terminal.json<{ webhook: object }>('webhooks', 'show', 'other')
    expect(after.webhook).not.toHaveProperty('resources')
    expect(after.webhook).not.toHaveProperty('eventTypes')
    expect(after.webhook).not.toHaveProperty('caCertificates')
    expect(await keyturn('update', 'other')).toEqual(
      refuses('say what to change: --name, --url, --type, --resource or --receiver-ca'),
    )
  })

  it('disables and enables it, replaces its secret, and deletes it', async () => {
    expect(await keyturn('disable', 'other')).toEqual(says('disabled other'))
    expect((await lines('list')).at(-1)).toContain(' DISABLED ')
    expect(await keyturn('enable', 'other')).toEqual(says('enabled other'))
    const rotated = (await lines('rotate-secret', 'other', '--overlap', '1h')).join('\n')
    expect(rotated).toMatch(/^secret +whsec_/m)
    expect(rotated).toMatch(/^previous secret expiration date +20/m)
    expect(await keyturn('delete', 'other', '--yes')).toEqual(says('deleted other'))
    expect(await keyturn('show', 'other')).toEqual(
      refuses('there is no webhook "other": "keyturn webhooks list" prints those that exist'),
    )
  })
})
