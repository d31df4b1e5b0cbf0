/**
 * The pages in `docs/clients/` and the tests that run them. They run in `npm run test:clients`.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { createApi } from '../../src/client/api.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const pages = globSync('docs/clients/*.md', { cwd: ROOT }).filter((page) => basename(page) !== 'README.md')

describe('the page about Node.js', () => {
  it('names the client of every service', () => {
    const api = createApi({ issuer: 'https://id.example.com', tokens: { token: async () => '', invalidate: () => {} } })
    const page = read('docs/clients/node.md')
    expect(Object.keys(api).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })
})

describe('the pages about clients', () => {
  it.each(pages)('%s is run by a test, or says that it is not', (page) => {
    const name = basename(page, '.md')
    const tests = globSync(`test/clients/${name}-page.test.ts`, { cwd: ROOT })
    const isNotRun = read(page).includes('**The tests do not run this page.**')
    expect({ isRun: tests.length === 1, isNotRun }).toEqual({ isRun: !isNotRun, isNotRun })
    for (const test of tests) expect(read(test)).toContain(`name: '${name}'`)
  })

  it.each(pages)('%s is in the list of pages', (page) => {
    expect(read('docs/clients/README.md')).toContain(`](${basename(page)})`)
  })

  it.each(pages)('%s has the same parts as all others', (page) => {
    const headings = [...read(page).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading).join('\n')
    for (const part of [/[Gg]et a token, and keep it/, /Verify a token/, /[Cc]all Keyturn's own API/])
      expect(headings).toMatch(part)
  })
})
