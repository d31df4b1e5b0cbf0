import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTerminal, type Terminal } from '../../support/terminal.ts'

const KEY_ID = '[A-Za-z0-9_-]{43}'

let terminal: Terminal
beforeAll(async () => {
  // Verifiers know a new key after a moment.
  terminal = await openTerminal({ env: { KEYTURN_JWKS_MAX_AGE: '0' } })
  await terminal.lines('keys', 'policy', 'set', '--publish-ahead', '0s', '--standby', 'off')
})
afterAll(() => terminal?.close())

async function activeKeyId(): Promise<string> {
  const { webKeys } = await terminal.json<{ webKeys: { keyId: string; state: string }[] }>('keys', 'list')
  return webKeys.find(({ state }) => state === 'WEB_KEY_STATE_ACTIVE')!.keyId
}

describe('keyturn keys rotate --wait', () => {
  it('waits until the new key signs, and says from when on that is', async () => {
    const before = await activeKeyId()
    const args = ['keys', 'rotate', '--wait']
    const [inScript, another] = await Promise.all([
      terminal.run(...args),
      // Wanted before the rotation has happened, it is the same one.
      terminal.run(...args, '--json'),
    ])
    const after = await activeKeyId()
    expect(after).not.toBe(before)

    const announced = `^(${KEY_ID}|a key that is being created) signs all new tokens from \\S+Z on, when verifiers know it\n`
    expect(inScript).toEqual({
      code: 0,
      stdout: `rotated: ${after} signs all new tokens\n`,
      stderr: expect.stringMatching(new RegExp(`${announced}$`)),
    })
    expect({ code: another.code, response: JSON.parse(another.stdout) }).toEqual({
      code: 0,
      response: {
        done: true,
        rotationDate: expect.stringMatching(/Z$/),
        webKey: expect.objectContaining({ keyId: after, state: 'WEB_KEY_STATE_ACTIVE' }),
      },
    })
    expect(another.stderr).toMatch(new RegExp(`${announced}$`))
  })
})
