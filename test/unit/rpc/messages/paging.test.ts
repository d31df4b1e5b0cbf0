import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ListProjectRolesRequestSchema } from '../../../../gen/iam/project/v2/project_service_pb.js'
import { byDate, byName, type DateAndId, fromMemory, isLater, listPage } from '../../../../src/rpc/messages/paging.ts'

const NAMES = byName((name: string) => name)
const PLACES = byDate(
  (place: DateAndId) => place,
  (place) => place,
)

function request(fields: { pageSize?: number; pageToken?: string; projectId?: string }) {
  return create(ListProjectRolesRequestSchema, fields)
}

function token(...texts: unknown[]): string {
  return Buffer.from(JSON.stringify(texts)).toString('base64url')
}

/** Every page, with the sizes asked for in turn. */
async function walk<Item>(
  sizes: readonly number[],
  read: (page: object) => ReturnType<typeof listPage<Item, unknown>>,
) {
  const pages: Item[][] = []
  let pageToken = ''
  do {
    const page = await read({ pageSize: sizes[pages.length % sizes.length]!, pageToken })
    pages.push([...page.items])
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return pages
}

describe('a list by pages', () => {
  it('has each item once, in order, whatever the sizes of the pages', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.string({ unit: 'binary' })), sizes, async (texts, pageSizes) => {
        const names = texts.filter((text) => !text.includes('\0')).sort()
        const source = fromMemory(names, (name, cursor: string) => name > cursor)
        const pages = await walk(pageSizes, (page) => listPage(request(page), NAMES, source))
        expect(pages.flat()).toEqual(names)
        expect(pages.slice(0, -1).every((page, i) => page.length === pageSizes[i % pageSizes.length])).toBe(true)
      }),
    )
  })

  it('tells items of the same date apart', async () => {
    const dates = fc.integer({ min: 0, max: 3 }).map((millis) => new Date(millis))
    const places = fc.uniqueArray(fc.record({ date: dates, id: fc.uuid() }), { selector: ({ id }) => id })
    await fc.assert(
      fc.asyncProperty(places, async (items) => {
        const inOrder = items.toSorted((a, b) => (isLater(a, b) ? 1 : -1))
        const source = fromMemory(inOrder, isLater)
        const pages = await walk([2], (page) => listPage(request(page), PLACES, source))
        expect(pages.flat()).toEqual(inOrder)
      }),
    )
  })
})

describe('a page token', () => {
  const source = fromMemory(['a', 'b', 'c'], (name, cursor: string) => name > cursor)
  const list = (fields: object) => listPage(request(fields), NAMES, source)

  it('may be used with another page size, and not with another filter', async () => {
    const { nextPageToken: pageToken } = await list({ pageSize: 1, projectId: 'x' })
    expect((await list({ pageSize: 5, projectId: 'x', pageToken })).items).toEqual(['b', 'c'])
    await expect(list({ pageSize: 1, projectId: 'y', pageToken })).rejects.toThrow('page_token')
  })

  it('that was made up is refused', async () => {
    const { nextPageToken } = await list({ pageSize: 1 })
    const [fingerprint] = JSON.parse(Buffer.from(nextPageToken, 'base64url').toString()) as [string]
    await expect(list({ pageToken: token(fingerprint, 'a') })).resolves.toMatchObject({ items: ['b', 'c'] })
    const wrong = [
      token(fingerprint),
      token(fingerprint, 'a', 'b'),
      token(fingerprint, 1),
      token(fingerprint, null),
      token(fingerprint, 'a\0'),
      token('', 'a'),
      token({ fingerprint }, 'a'),
      Buffer.from('null').toString('base64url'),
      '%%%',
    ]
    for (const pageToken of wrong) await expect(list({ pageToken })).rejects.toThrow('page_token')
  })
})
