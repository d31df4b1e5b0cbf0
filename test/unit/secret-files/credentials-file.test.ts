import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DomainError } from '../../../src/domain/errors.ts'
import { credentialsFile } from '../../../src/secret-files/credentials-file.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'

const CREDENTIALS = { clientId: 'me@acme', clientSecret: 'only here' }

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => removeFolder(folder))

/** The names of files that were there. */
let kept: string[]

/** Writes credentials around a change that fails, and returns the message. */
async function writeAround(
  error: DomainError,
  change: () => Promise<void> = () => Promise.reject(error),
): Promise<string> {
  kept = []
  const file = credentialsFile({
    path: join(folder, 'admin.json'),
    onKept: (name) => kept.push(name),
    baseUrl: 'http://localhost',
    tokenEndpoint: 'http://localhost/token',
  })
  return await file.write(CREDENTIALS, change).then(String, ({ message }: Error) => message)
}

describe('credentials that a change makes work', () => {
  it('are kept where the message says, if the change may be stored', async () => {
    const message = await writeAround(new DomainError('change_outcome_unknown', 'the change may be stored'))
    const [, path = ''] = /^the change may be stored; then its credentials are in (.+)$/.exec(message) ?? []
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ client_id: 'me@acme', client_secret: 'only here' })
  })

  it('are told of with those that were there, which are known before the change', async () => {
    await writeFile(join(folder, 'admin.json'), 'before')
    const message = await writeAround(new DomainError('change_outcome_unknown', 'the change may be stored'))
    expect(message).toMatch(/\/admin\.json, and those before in .+\.old$/)
    expect(kept).toEqual([message.split(' ').at(-1)])
  })

  it('hide no error of the change when those that were there cannot be put back', async () => {
    await writeFile(join(folder, 'admin.json'), 'before')
    const error = new DomainError('storage_unavailable', 'not stored')
    const change = () => rm(folder, { recursive: true }).then(() => Promise.reject(error))
    expect(await writeAround(error, change)).toBe('not stored')
    expect(kept).toHaveLength(1)
  })

  it('are gone if the change is not stored', async () => {
    expect(await writeAround(new DomainError('storage_unavailable', 'not stored'))).toBe('not stored')
    expect(await readdir(folder)).toEqual([])
  })
})
