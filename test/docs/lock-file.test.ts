import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { lockFaults } from '../../scripts/check-lock.ts'
import { missingPackages } from '../../scripts/complete-lock.ts'
import type { LockedPackages } from '../../scripts/lock-file.ts'

const ROOT = join(import.meta.dirname, '../..')
const GAPS = 'scripts/lock-without-integrity.txt'
const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))

const JOSE = 'node_modules/jose'
const FOREIGN = 'node_modules/@tool/darwin-x64'
const integrity = (letter: string) => `sha512-${letter.repeat(86)}==`

describe('package-lock.json', () => {
  it('has the packages of all platforms: run "npx node scripts/complete-lock.ts" if not', () => {
    expect(Object.keys(missingPackages(lock.packages))).toEqual([])
  })

  it('has no addresses, and lacks an integrity only where the list of gaps says so', () => {
    const gaps = readFileSync(join(ROOT, GAPS), 'utf8').split('\n').filter(Boolean)
    expect(lockFaults(lock.packages, gaps)).toEqual([])
  })
})

describe('the check of the lock', () => {
  const sound: LockedPackages = {
    '': {},
    [JOSE]: { version: '6.0.0', integrity: integrity('j') },
    [FOREIGN]: { version: '1.2.3', dev: true, optional: true },
  }
  const tampered = (path: string, change: object) => ({ ...sound, [path]: { ...sound[path], ...change } })

  it('passes a lock whose only gap is listed', () => {
    expect(lockFaults(sound, [FOREIGN])).toEqual([])
  })

  it('passes a workspace, and its link', () => {
    const workspace = { 'packages/own': { version: '1.0.0' } }
    const link = { 'node_modules/@us/own': { link: true, resolved: 'packages/own' } }
    expect(lockFaults({ ...sound, ...workspace, ...link }, [FOREIGN])).toEqual([])
  })

  it.each([
    ['a shipped package lost its integrity', tampered(JOSE, { integrity: undefined }), [FOREIGN], JOSE],
    ['a shipped package without integrity is listed', tampered(JOSE, { integrity: undefined }), [FOREIGN, JOSE], JOSE],
    ['a tool of every platform is listed', tampered(FOREIGN, { optional: undefined }), [FOREIGN], FOREIGN],
    [
      'an integrity is a weak hash',
      tampered(JOSE, { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }),
      [FOREIGN],
      JOSE,
    ],
    [
      'an integrity admits a second content',
      tampered(JOSE, { integrity: `${integrity('j')} ${integrity('k')}` }),
      [FOREIGN],
      JOSE,
    ],
    ['a package comes from an address', tampered(JOSE, { resolved: 'git+ssh://elsewhere/jose' }), [FOREIGN], JOSE],
    [
      'a link leads to an address',
      tampered(FOREIGN, { link: true, resolved: 'https://elsewhere' }),
      [FOREIGN],
      FOREIGN,
    ],
    ['a gap is not listed', sound, [], FOREIGN],
    ['a listed gap is none any more', tampered(FOREIGN, { integrity: integrity('f') }), [FOREIGN], FOREIGN],
    ['a listed package is not in the lock', sound, [FOREIGN, 'node_modules/gone'], 'node_modules/gone'],
  ])('fails when %s', (_, packages, gaps, culprit) => {
    const faults = lockFaults(packages as LockedPackages, gaps)
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(culprit)
  })
})
