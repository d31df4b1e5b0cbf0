import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SETTINGS } from '../../../src/config/settings.ts'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { removeFolder, runKeyturnInProcess, temporaryFolder } from '../../support/keyturn.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => removeFolder(folder))

describe('keyturn config', () => {
  it('prints every setting in force, flags before variables', async () => {
    const { code, stdout, stderr } = await runKeyturnInProcess(['config', '--listen', '[::1]:7000'], {
      KEYTURN_LISTEN: '127.0.0.1:1',
      KEYTURN_DATA_DIR: folder,
      KEYTURN_JWKS_MAX_AGE: '60',
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => line.slice(0, line.indexOf('=')))).toEqual(SETTINGS.map(({ variable }) => variable))
    expect(lines).toEqual(
      expect.arrayContaining([
        'KEYTURN_LISTEN=[::1]:7000',
        `KEYTURN_DATA_DIR=${folder}`,
        `KEYTURN_CREDENTIALS=${join(folder, 'admin.json')}`,
        'KEYTURN_JWKS_MAX_AGE=60',
        'KEYTURN_TOKEN_LIFETIME=3600',
      ]),
    )
  })

  it('prints nothing that is secret', async () => {
    const masterKey = generateMasterKey()
    const env = {
      KEYTURN_DATABASE_URL: 'postgres://robot:pa55word@db.example/keyturn?password=0ther',
      KEYTURN_MASTER_KEYS: masterKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://t0ken@collector.example/v1?api-key=qu3ry',
    }
    for (const args of [['config'], ['config', '--json']]) {
      const { code, stdout } = await runKeyturnInProcess(args, env)
      expect(code).toBe(0)
      expect(stdout).toContain('postgres://robot:***@db.example/keyturn?password=***')
      expect(stdout).toContain('https://collector.example/v1')
      for (const secret of ['pa55word', '0ther', 't0ken', 'qu3ry', masterKey.split(':')[1]!])
        expect(stdout).not.toContain(secret)
    }
  })
})

describe('a wrong configuration', () => {
  const wrong = {
    KEYTURN_LISTEN: 'nonsense',
    KEYTURN_BASE_URL: 'http://example.com',
    KEYTURN_DATABASE_URL: 'mysql://robot:pa55word@db/keyturn',
    KEYTURN_JWKS_MAX_AGE: '-1',
    KEYTURN_LOG_LEVEL: 'loud',
    KEYTURN_TOKEN_LIFETIMES: '60',
  }

  it.each(['config', 'serve', 'migrate'])(
    'stops "keyturn %s" with exit code 2, every mistake named',
    async (command) => {
      const dataDir = join(folder, command)
      const { code, stdout, stderr } = await runKeyturnInProcess([command], {
        ...wrong,
        KEYTURN_TLS_KEY_FILE: 'key.pem',
        KEYTURN_DATA_DIR: dataDir,
      })
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^keyturn: the configuration is not valid:\n/)
      for (const variable of [
        ...Object.keys(wrong),
        'KEYTURN_TLS_CERT_FILE and KEYTURN_TLS_KEY_FILE',
        'KEYTURN_MASTER_KEYS',
      ]) {
        expect(stderr).toMatch(new RegExp(`^ {2}${variable}\\b`, 'm'))
      }
      expect(stderr).toContain('KEYTURN_TOKEN_LIFETIMES: there is no such variable')
      expect(stderr).not.toContain('pa55word')
      expect(await readdir(folder)).not.toContain(command)
    },
  )

  it('names what a malformed master key should look like, and nothing of it', async () => {
    const { code, stderr } = await runKeyturnInProcess(['config'], { KEYTURN_MASTER_KEYS: 'mk-1:c2hvcnQtc2VjcmV0' })
    expect(code).toBe(2)
    expect(stderr).toContain('KEYTURN_MASTER_KEYS: master key 1 is malformed: write it as id:key')
    expect(stderr).not.toContain('c2hvcnQtc2VjcmV0')
  })
})
