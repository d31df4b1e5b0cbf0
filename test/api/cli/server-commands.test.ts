import { describe, expect, it } from '@jest/globals'
import { runKeyturnInProcess } from '../../support/keyturn.ts'
import { rejects } from '../../support/terminal.ts'

/** The flags of settings that the help of a command offers. */
async function flagsOf(...command: string[]): Promise<string[]> {
  const { stdout } = await runKeyturnInProcess([...command, '--help'])
  return [...stdout.matchAll(/^ {2}(--[a-z-]+) <value>/gm)].map(([, flag = '']) => flag)
}

describe('commands that work on the database', () => {
  it.each([
    [['migrate'], ['--database-url', '--data-dir']],
    [
      ['master-key', 'rotate'],
      ['--database-url', '--data-dir'],
    ],
    [
      ['master-key', 'status'],
      ['--database-url', '--data-dir'],
    ],
    [
      ['issuer', 'show'],
      ['--database-url', '--data-dir'],
    ],
    [
      ['issuer', 'change'],
      ['--database-url', '--data-dir'],
    ],
    [['recover'], ['--listen', '--base-url', '--credentials', '--database-url', '--data-dir']],
    [['serve'], ['--listen', '--base-url', '--database-url', '--workers', '--data-dir', '--credentials']],
  ])('%j offers the flags that it uses, and no others', async (command, flags) => {
    expect(await flagsOf(...command)).toEqual(flags)
  })

  it('say which argument is no URL', async () => {
    expect(await runKeyturnInProcess(['issuer', 'change', 'foo'])).toEqual(
      rejects("command-argument value 'foo' is invalid for argument 'url'. It must be a URL, https://…."),
    )
  })
})
