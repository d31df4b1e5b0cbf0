import { chmod, mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { commandName } from '../../../src/cli/command-name.ts'
import { removeFolder, temporaryFolder } from '../../support/keyturn.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await temporaryFolder())
})
afterEach(() => removeFolder(folder))

/** A program in a folder, and optionally a link to it elsewhere. */
async function install(path: string, link?: string): Promise<string> {
  const program = join(folder, path)
  await mkdir(dirname(program), { recursive: true })
  await writeFile(program, '')
  await chmod(program, 0o755)
  if (link === undefined) return program
  await mkdir(dirname(join(folder, link)), { recursive: true })
  await symlink(program, join(folder, link))
  return join(folder, link)
}

const PACKAGE = 'node_modules/keyturn/src/cli/keyturn.js'
const nameIn = (cwd: string, program: string, path = '/usr/bin') =>
  commandName({ program, env: { PATH: path } }, join(folder, cwd))

describe('the command that starts the command line again', () => {
  it('is npx in a checkout and in the folders below', async () => {
    const program = await install('src/cli/keyturn.js')
    await writeFile(join(folder, 'package.json'), '{}')
    await mkdir(join(folder, 'docs'))
    expect(nameIn('.', program)).toBe('npx keyturn')
    expect(nameIn('docs', program)).toBe('npx keyturn')
  })

  it('is npx where the package is installed', async () => {
    const program = await install(PACKAGE, 'node_modules/.bin/keyturn')
    expect(nameIn('.', program)).toBe('npx keyturn')
    // What npm runs has that folder on its PATH, and the user has not.
    expect(nameIn('.', program, join(folder, 'node_modules/.bin'))).toBe('npx keyturn')
  })

  it('is the path of the program where npx would find another one, or none', async () => {
    const program = await install(`app/${PACKAGE}`, 'app/node_modules/.bin/keyturn')
    await install(`other/${PACKAGE}`, 'other/node_modules/.bin/keyturn')
    await mkdir(join(folder, 'empty'))
    const path = `${process.execPath} ${join(folder, 'app', PACKAGE)}`
    expect(nameIn('other', program)).toBe(path)
    expect(nameIn('empty', program)).toBe(path)
  })
})
