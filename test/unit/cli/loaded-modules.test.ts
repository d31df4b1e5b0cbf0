/**
 * What a command loads decides how long it takes to start.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'

const MAIN = join(import.meta.dirname, '../../../src/cli/keyturn.js')

/** Prints the packages of the modules that are loaded. */
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

async function loadedBy(...args: string[]): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, [
    '--import',
    `data:text/javascript,${encodeURIComponent(HOOK)}`,
    MAIN,
    ...args,
  ])
  return (JSON.parse(stderr) as string[]).sort()
}

describe('a command', () => {
  it.each([
    [['--help'], ['cli', 'commander', 'config', 'domain']],
    [
      ['token', '--help'],
      ['cli', 'commander', 'config', 'domain', 'oauth', 'secret-files'],
    ],
  ])('%j loads what it needs and nothing else', async (args, expected) => {
    expect(await loadedBy(...args)).toEqual(expected)
  })

  it('that calls the API loads no server, and no library that only a server needs', async () => {
    expect(await loadedBy('keys', 'list', '--help')).toEqual([
      '@bufbuild/protobuf',
      // Descriptors of annotations only.
      '@bufbuild/protovalidate',
      '@connectrpc/connect',
      '@connectrpc/connect-node',
      'cli',
      'client',
      'commander',
      'config',
      'domain',
      'jose',
      'oauth',
      'secret-files',
    ])
  })
})
