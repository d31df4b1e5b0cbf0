import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readConfig } from '../../../src/config/read-config.ts'
import { generateMasterKey } from '../../../src/crypto/master-keys.ts'
import { masterKeySource } from '../../../src/secret-files/master-key-source.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'
import { createRecordingLog } from '../../support/log.ts'

const masterKey = generateMasterKey()
const secret = masterKey.split(':')[1]!

let folder: string
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => removeFolder(folder))

/** A program that is this script. */
async function script(name: string, source: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!${process.execPath}\n${source}\n`)
  await chmod(path, 0o700)
  return path
}

/** Reads the master keys that a command prints. */
function read(command: string | readonly string[], signal?: AbortSignal) {
  const log = createRecordingLog()
  const text = typeof command === 'string' ? command : JSON.stringify(command)
  const source = masterKeySource(readConfig({}, { KEYTURN_MASTER_KEYS_COMMAND: text }), log)
  return { log, loading: source.load({ mayGenerate: false, ...(signal === undefined ? {} : { signal }) }) }
}

describe('master keys from a command', () => {
  it.each([
    ['words between blanks', (path: string) => ` ${path}  first   second `, ['first', 'second']],
    ['a JSON array', (path: string) => JSON.stringify([path, 'a b', '$HOME', '"']), ['a b', '$HOME', '"']],
  ])('are read with the arguments of %s, which no shell has touched', async (_, commandOf, args) => {
    const path = await script(
      'prints.js',
      `if (JSON.stringify(process.argv.slice(2)) !== ${JSON.stringify(JSON.stringify(args))}) process.exit(9)
       console.log('${masterKey}, other:${secret}')`,
    )
    const { log, loading } = read(commandOf(path))
    expect((await loading).map(({ id }) => id)).toEqual([masterKey.split(':')[0], 'other'])
    expect(log.lines).toEqual([])
  })

  it('leave what the command says for people in the log, without anything like a key', async () => {
    const path = await script(
      'talks.js',
      `console.error('+ unseal ${masterKey}'); console.error('unsealed'); console.log('${masterKey}')`,
    )
    const { log, loading } = read(path)
    await loading
    expect(log.lines).toEqual([expect.stringContaining('unsealed')])
    expect(log.lines.join()).toContain('+ unseal mk-')
    expect(log.lines.join()).not.toContain(secret)
  })

  it.each([
    ['fails', `console.log('${masterKey}'); console.error('sealed'); process.exitCode = 3`, /ended with exit code 3$/],
    [
      'is ended by a signal',
      `process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60000)`,
      /ended with SIGTERM$/,
    ],
    ['prints nothing', '', /there is no master key/],
    ['prints something else', `console.log('${secret}')`, /master key 1 is malformed/],
    ['prints too much', `process.stdout.write('${masterKey},'.repeat(9000))`, /printed more than 262144 characters$/],
  ])('are refused if the command %s, with no word of its output', async (_, source, reason) => {
    const path = await script('fails.js', source)
    const { log, loading } = read(path)
    const error = await loading.then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    expect(error?.message).toMatch(reason)
    expect(error?.message).toContain(`cannot read master keys from the command ${path}: `)
    expect([error?.stack, String(error?.cause), ...log.lines].join()).not.toContain(secret)
  })

  it('are given up when the server is stopped meanwhile', async () => {
    const stopping = new AbortController()
    const { loading } = read(['/bin/sleep', '600'], stopping.signal)
    stopping.abort(new Error('the server stops'))
    await expect(loading).rejects.toThrow('the server stops')
  })
})
