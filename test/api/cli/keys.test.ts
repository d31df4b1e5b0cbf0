import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { MOMENT, openTerminal, type Terminal } from '../../support/terminal.ts'

/** A key id is a SHA-256 thumbprint as base64url. */
const KEY_ID = '[A-Za-z0-9_-]{43}'

let terminal: Terminal
beforeAll(async () => {
  terminal = await openTerminal()
})
afterAll(() => terminal?.close())

const keyturn = (...args: string[]) => terminal.run(...args)

/** The keys as the API lists them, asked for without the command line. */
const listedKeys = () =>
  terminal.call<{ webKeys: { keyId: string; algorithm: string; state: string }[] }>(
    'iam.webkey.v2.WebKeyService/ListWebKeys',
    {},
  )

async function stateOf(keyId: string) {
  return (await listedKeys()).webKeys.find((key) => key.keyId === keyId)?.state
}

async function activeKeyId(): Promise<string> {
  return (await listedKeys()).webKeys.find(({ state }) => state === 'WEB_KEY_STATE_ACTIVE')!.keyId
}

async function createKey(...options: string[]): Promise<string> {
  const { stdout } = await keyturn('keys', 'create', 'ed25519', '--json', ...options)
  return (JSON.parse(stdout) as { webKey: { keyId: string } }).webKey.keyId
}

describe('keyturn keys list', () => {
  it('prints a table of all keys, oldest first', async () => {
    const created = await createKey()
    const { code, stdout, stderr } = await keyturn('keys', 'list')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })

    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^KEY ID {39}ALGORITHM {2}STATE {3,5}CREATION DATE$/)
    expect(lines[1]).toMatch(new RegExp(`^${KEY_ID}  RS256      ACTIVE +${MOMENT}$`))
    expect(lines.slice(1).map((line) => line.slice(0, 43))).toEqual(
      (await listedKeys()).webKeys.map((key) => key.keyId),
    )
    expect(stdout).toMatch(new RegExp(`^${created}  EdDSA      INITIAL +${MOMENT}$`, 'm'))
  })
})

describe('keyturn keys create', () => {
  it.each([
    [[], 'RS256'],
    [['rsa', '--bits', '3072', '--hasher', 'SHA384'], 'RS384'],
    [['ecdsa', '--curve', 'P384'], 'ES384'],
    [['ecdsa', '--curve', 'P521'], 'ES512'],
    [['ed25519'], 'EdDSA'],
  ])('%j creates an initial key [Spec §2.3, §4.3 rule 1]', async (args, algorithm) => {
    const known = (await listedKeys()).webKeys.some((key) => key.algorithm === algorithm)
    const { code, stdout, stderr } = await keyturn('keys', 'create', ...args)
    expect(code).toBe(0)
    if (known) expect(stderr).toBe('')
    else
      expect(stderr).toMatch(
        new RegExp(`^warning: no web key has the algorithm ${algorithm} yet: .*\n(warning: .*\n)*$`),
      )

    const keyId = new RegExp(`^created (${KEY_ID}) \\(${algorithm}\\), initial\n$`).exec(stdout)?.[1]
    expect((await listedKeys()).webKeys).toContainEqual(
      expect.objectContaining({ keyId, algorithm, state: 'WEB_KEY_STATE_INITIAL' }),
    )
  })
})

describe('keyturn keys activate', () => {
  it('makes the key sign, and warns on stderr that verifiers may not know it yet [Spec §3, §8]', async () => {
    const keyId = await createKey()
    expect(await keyturn('keys', 'activate', keyId)).toEqual({
      code: 0,
      stdout: `activated ${keyId}: it signs all new tokens\n`,
      stderr: expect.stringMatching(
        /^warning: verifiers may not know the key before \d{4}-\d\d-\d\dT[\d:.]+Z, when their copy of the key set has expired\n$/,
      ),
    })
    expect(await activeKeyId()).toBe(keyId)
  })
})

describe('keyturn keys delete', () => {
  it('deletes an inactive key [Spec §3]', async () => {
    const keyId = await activeKeyId()
    await keyturn('keys', 'activate', await createKey())
    expect(await keyturn('keys', 'delete', keyId)).toEqual({
      code: 0,
      stdout: `deleted ${keyId}\n`,
      stderr: '',
    })
    expect(await stateOf(keyId)).toBeUndefined()
  })
})

describe('the first key of an algorithm', () => {
  const atTerminal = (typed: string, ...args: string[]) =>
    runKeyturnInProcess(args, { KEYTURN_DATA_DIR: terminal.server.dataDir }, { typed })
  const withoutRs384 = async () => {
    const { webKeys } = await listedKeys()
    for (const { keyId, algorithm } of webKeys) if (algorithm === 'RS384') await keyturn('keys', 'revoke', keyId)
  }
  const countOfRs384 = async () => (await listedKeys()).webKeys.filter(({ algorithm }) => algorithm === 'RS384').length
  const create = ['keys', 'create', 'rsa', '--hasher', 'SHA384']
  const setKind = ['keys', 'policy', 'set', '--kind', 'rsa', '--hasher', 'SHA384']
  const WARNING = 'warning: no web key has the algorithm RS384 yet: '
  beforeEach(async () => {
    await keyturn('keys', 'policy', 'set', '--kind', 'rsa')
    await withoutRs384()
  })
  afterAll(async () => {
    await keyturn('keys', 'policy', 'set', '--kind', 'rsa')
    await withoutRs384()
  })

  it('is warned about on stderr, with --json too, and by the policy', async () => {
    const { code, stdout, stderr } = await keyturn(...setKind, '--json')
    expect([code, stderr.split('\n').length]).toEqual([0, 3])
    expect(stderr).toContain(WARNING)
    expect(JSON.parse(stdout)).toMatchObject({
      warnings: [expect.stringContaining('RS384'), expect.stringContaining('Authlib')],
    })
    const created = await keyturn(...create, '--json')
    expect(created.stderr).toBe(stderr)
    expect(JSON.parse(created.stdout)).toMatchObject({ webKey: { algorithm: 'RS384' } })
    expect((await keyturn(...create)).stderr).toBe('')
    expect((await keyturn(...setKind)).stderr).toBe('')
  })

  it('is asked about at a terminal, and created after a yes', async () => {
    for (const answer of ['y\n', 'YES\n']) {
      await withoutRs384()
      const { code, stdout, stderr } = await atTerminal(answer, ...create)
      expect({ code, count: await countOfRs384() }).toEqual({ code: 0, count: 1 })
      expect(stderr).toMatch(/^no web key has the algorithm RS384 yet: [\s\S]*Go on\? \[y\/N\] /)
      expect(stdout).toContain('(RS384), initial')
    }
  })
})

describe('keyturn keys policy', () => {
  it('prints how keys rotate', async () => {
    const { stdout } = await keyturn('keys', 'policy')
    expect(stdout.split('\n').map((line) => line.replace(/ {2,}/, ': '))).toEqual([
      'enabled: true',
      'config rsa bits: RSA_BITS_2048',
      'config rsa hasher: SHA256',
      'rotation interval: 90d',
      'publish ahead: 7d',
      'retention: 7d',
      'rollback window: 7d',
      'keep standby: true',
      '',
    ])
    expect((await keyturn('keys', 'policy', 'show')).stdout).toBe(stdout)
  })

  it('is changed in what is named', async () => {
    const times = ['--interval', '30d', '--publish-ahead', '36h', '--retention', '1440m', '--rollback-window', '90s']
    const { code, stdout, stderr } = await keyturn('keys', 'policy', 'set', ...times, '--standby', 'off')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const line of [
      'rotation interval +30d',
      'publish ahead +36h',
      'retention +1d',
      'rollback window +90s',
      'keep standby +false',
    ])
      expect(stdout).toMatch(new RegExp(`^${line}$`, 'm'))
    const kinds = [
      [['ed25519'], /^config ed25519 +-$/m],
      [['ecdsa', '--curve', 'P384'], /^config ecdsa curve +P384$/m],
      [['rsa', '--bits', '3072', '--hasher', 'SHA512'], /^config rsa hasher +SHA512$/m],
      [['rsa'], /^config rsa hasher +SHA256$/m],
    ] as const
    for (const [args, kind] of kinds)
      expect((await keyturn('keys', 'policy', 'set', '--kind', ...args)).stdout).toMatch(kind)
  })
})

describe('keyturn keys schedule', () => {
  it('prints what happens, when and to which key', async () => {
    await keyturn('keys', 'policy', 'set', '--standby', 'on')
    const { code, stdout, stderr } = await keyturn('keys', 'schedule', '--count', '3')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(4)
    expect(lines[0]).toMatch(/^DATE +KIND +KEY ID$/)
    for (const line of lines.slice(1)) expect(line).toMatch(new RegExp(`^${MOMENT}  [A-Z_]+ +\\S+$`))
  })
})

describe('keyturn keys rotate', () => {
  it('says which key signs from when on', async () => {
    await keyturn('keys', 'policy', 'set', '--kind', 'ecdsa', '--curve', 'P521')
    const { code, stdout, stderr } = await keyturn('keys', 'rotate')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      new RegExp(
        `^(a key that is being created|${KEY_ID}) signs all new tokens from ${MOMENT} on, when verifiers know it\n$`,
      ),
    )
    const { stdout: json } = await keyturn('keys', 'rotate', '--json')
    expect(JSON.parse(json)).toEqual(expect.objectContaining({ rotationDate: expect.any(String) }))
  })
})

describe('keyturn keys revoke', () => {
  it('says what signs now and until when verifiers may trust the key', async () => {
    const keyId = await activeKeyId()
    const { code, stdout, stderr } = await keyturn('keys', 'revoke', keyId)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const active = await activeKeyId()
    expect(stdout.split('\n')).toEqual([
      `revoked ${keyId}: tokens that it signed are refused`,
      `${active} signs all new tokens`,
      expect.stringMatching(new RegExp(`^Verifiers that have copied the key set may accept them until ${MOMENT}\\.$`)),
      '',
    ])
    expect((await keyturn('keys', 'list')).stdout).not.toContain(keyId)
    expect((await keyturn('keys', 'list', '--revoked')).stdout).toMatch(new RegExp(`^${keyId} .* REVOKED `, 'm'))
  })
})
