/**
 * What a command loads decides how long it takes to start.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

const MAIN = join(import.meta.dirname, '../../../src/cli/keyturn.js')

/** Prints the packages and the folders of the source whose modules are loaded. */
const HOOK = `
import { registerHooks } from 'node:module'
const names = new Set()
registerHooks({
  load(url, context, next) {
    const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1] ?? /\\/src\\/([\\w-]+)\\//.exec(url)?.[1]
    if (name !== undefined) names.add(name)
    return next(url, context)
  },
})
process.on('exit', () => process.stderr.write(JSON.stringify([...names])))
`

it('a command that calls the API loads no server, and no library that only a server needs', async () => {
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', hook, MAIN, 'keys', 'list', '--help'])
  const loaded = JSON.parse(stderr) as string[]
  expect(loaded).toEqual(expect.arrayContaining(['cli', 'commander']))
  const ofServers = [
    'app',
    'storage',
    'rpc',
    'http',
    'server',
    'telemetry',
    'kysely',
    'pg',
    'oidc-provider',
    'pino',
    'jose',
  ]
  expect(loaded.filter((name) => ofServers.includes(name))).toEqual([])
})
