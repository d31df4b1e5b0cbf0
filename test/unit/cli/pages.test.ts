import { describe, expect, it } from '@jest/globals'
import { everyItemOf, itemsOf } from '../../../src/cli/pages.ts'

/** A list of three pages, the second one empty, and the tokens that it was asked with. */
function pagedList() {
  const pages: Record<string, { items: string[]; nextPageToken: string }> = {
    '': { items: ['a', 'b'], nextPageToken: 'second' },
    second: { items: [], nextPageToken: 'third' },
    third: { items: ['c'], nextPageToken: '' },
  }
  const asked: string[] = []
  const list = async ({ pageToken }: { pageToken: string }) => {
    asked.push(pageToken)
    return pages[pageToken]!
  }
  return { list, asked }
}

describe('a list of several pages', () => {
  it('comes in one piece, also when a page in the middle is empty', async () => {
    const { list, asked } = pagedList()
    expect(await everyItemOf(list, ({ items }) => items)).toEqual(['a', 'b', 'c'])
    expect(asked).toEqual(['', 'second', 'third'])
  })

  it('is not read further than it is wanted', async () => {
    const { list, asked } = pagedList()
    for await (const item of itemsOf(list, ({ items }) => items)) {
      if (item === 'b') break
    }
    expect(asked).toEqual([''])
  })
})
