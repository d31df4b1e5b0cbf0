/**
 * The files of the source and the tests that the documentation names, and the glossary.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

/** A path of the repository's own code. Where it ends with a slash it is a folder. */
const CODE_PATH = /`((?:src|test|proto|gen|scripts|deploy|bench)\/[\w./-]*)`/g
const codePathsIn = (text: string) => [...text.matchAll(CODE_PATH)].map(([, path = '']) => path)

const isMissing = (path: string) => !existsSync(join(ROOT, path))

describe('the documentation', () => {
  const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT }).filter((page) => page !== 'CHANGELOG.md')

  it.each(pages)('%s names only files that exist', (page) => {
    expect(codePathsIn(read(page)).filter(isMissing)).toEqual([])
  })

  it('links only to pages that exist, and to headings that they have', () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)/g)].flatMap(([, path = '', heading]) => {
        const target = path === '' ? page : join(page, '..', path)
        if (isMissing(target)) return [`${page}: ${path}`]
        return heading === undefined || headingsOf(target).includes(heading) ? [] : [`${page}: ${path}#${heading}`]
      }),
    )
    expect(broken).toEqual([])
  })
})

/** The anchors of a page, as GitHub makes them. */
function headingsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}
