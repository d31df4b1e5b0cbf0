import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../src/config/read-config.ts'
import { removeFolder, temporaryFolder } from '../support/keyturn.ts'
import { itUnless } from '../support/unless.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const PATH = 'deploy/systemd/keyturn.service'

/** Why systemd cannot check the unit here; undefined if it can. The unit says that it needs version 251. */
function noSystemd(): string | undefined {
  try {
    const [, version] =
      /^systemd (\d+)/.exec(execFileSync('systemd-analyze', ['--version'], { encoding: 'utf8' })) ?? []
    return Number(version) >= 251 ? undefined : `systemd is version ${version}`
  } catch {
    return 'there is no systemd'
  }
}

/** The values of each key of the unit, whatever its section. */
function settingsOf(unit: string): Map<string, string[]> {
  const settings = new Map<string, string[]>()
  for (const [, key = '', value = ''] of unit.matchAll(/^(\w+)=(.*)$/gm)) {
    settings.set(key, [...(settings.get(key) ?? []), value])
  }
  return settings
}

describe('the systemd unit', () => {
  const settings = settingsOf(read(PATH))
  const one = (key: string) => settings.get(key)?.[0] ?? ''
  const page = read('docs/install.md')

  itUnless(noSystemd())('has nothing to complain about for systemd', async () => {
    const folder = await temporaryFolder()
    const complaintsAbout = (unit: string) => {
      const path = join(folder, 'keyturn.service')
      // Its program must exist.
      writeFileSync(path, unit.replace('/usr/bin/node', process.execPath))
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' })
      return { status, output: stdout + stderr }
    }
    expect(complaintsAbout(read(PATH))).toEqual({ status: 0, output: '' })
    const misspelled = read(PATH).replace('DynamicUser=', 'DynamicUsers=')
    expect(complaintsAbout(misspelled).output).toContain('DynamicUsers')
    await removeFolder(folder)
  })

  it('sets variables that exist, to files that the page makes', () => {
    const variables = Object.fromEntries((settings.get('Environment') ?? []).map((text) => text.split('=')))
    const environment = /^cat > (\/etc\S+) <<'END'\n(.*?)^END$/ms.exec(page)
    expect(one('EnvironmentFile')).toBe(environment?.[1])
    const fromPage = Object.fromEntries(
      (environment?.[2] ?? '').split('\n').flatMap((line) => {
        const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
        return name === '' ? [] : [[name, value]]
      }),
    )
    expect(readConfig({}, { ...variables, ...fromPage })).toMatchObject({
      baseUrl: 'https://tokens.example.com',
      database: { kind: 'postgres' },
      masterKeys: { kind: 'file', path: '%d/master-keys' },
      initialCredentialsFile: expect.stringMatching(/%d\/admin\.json$/),
    })
    const credentials = (settings.get('LoadCredential') ?? []).map((text) => text.split(':'))
    expect(credentials.map(([name]) => name)).toEqual(['master-keys', 'admin.json'])
    for (const [, file] of credentials) expect(page).toContain(`> ${file}\n`)
  })
})
