import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { missingPackages } from '../../scripts/complete-lock.ts'

const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8'))

describe('package-lock.json', () => {
  it('has the packages of all platforms: run "npx node scripts/complete-lock.ts" if not', () => {
    expect(Object.keys(missingPackages(lock.packages))).toEqual([])
  })

  it('has no addresses of a registry', () => {
    expect(JSON.stringify(lock)).not.toContain('"resolved"')
  })
})

describe('the packages that a lock file lacks', () => {
  it('are the optional ones of other platforms, with what they run on', () => {
    const packages = {
      'node_modules/tool': {
        dev: true,
        optionalDependencies: { '@tool/linux-arm64-musl': '1.2.3', '@tool/darwin-x64': '1.2.3', loose: '^1.0.0' },
      },
      'node_modules/@tool/darwin-x64': { version: '1.2.3' },
    }
    expect(missingPackages(packages)).toEqual({
      'node_modules/@tool/linux-arm64-musl': {
        version: '1.2.3',
        dev: true,
        optional: true,
        cpu: ['arm64'],
        os: ['linux'],
        libc: ['musl'],
      },
    })
  })
})
