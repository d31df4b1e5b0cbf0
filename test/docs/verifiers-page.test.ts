/**
 * `docs/verifiers.md` against the suite of verifiers: `npm run interop -- --write` brings it up to date.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { withSources } from '../../scripts/interop.ts'
import { VERIFIERS } from '../interop/verifiers.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/verifiers.md'), 'utf8')
const [kinds = []] = page
  .slice(page.indexOf('<!-- measured: begin -->'), page.indexOf('<!-- measured: end -->'))
  .split(/^\|---.*$/m)
  .slice(1)
  .map((rows) => [...rows.matchAll(/^\| (?!verifier )(.+) \|$/gm)].map(([, row = '']) => row.split(' | ')))

describe('the page about verifiers', () => {
  it('has the versions that the manifests pin', () => {
    const pinned = VERIFIERS.filter(({ version }) => typeof version === 'string')
    expect(pinned.length).toBeGreaterThan(0)
    for (const { name, version } of pinned) expect(kinds.find((row) => row[0] === name)?.[1]).toBe(version)
  })

  it('shows the code that the suite runs', () => {
    expect(page).toBe(withSources(page))
    for (const [, source] of page.matchAll(/^<!-- source: (\S+) -->$/gm))
      expect(page).toContain(`${source} -->\n\`\`\``)
  })
})
