import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ListProjectRolesRequestSchema } from '../../../../gen/iam/project/v2/project_service_pb.js'
import { type DateAndId, listFromMemory, listOldestFirst, type listPage } from '../../../../src/rpc/messages/paging.ts'

function request(fields: { pageSize?: number; pageToken?: string; projectId?: string }) {
  return create(ListProjectRolesRequestSchema, fields)
}

function token(text: string): string {
  return Buffer.from(text).toString('base64url')
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
      fc.asyncProperty(
        fc.uniqueArray(
          fc.string({
            unit: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => text !== '\0'),
          }),
        ),
        sizes,
        async (texts, pageSizes) => {
          const names = texts.toSorted()
          const pages = await walk(pageSizes, (page) => listFromMemory(request(page), texts, String))
          expect(pages.flat()).toEqual(names)
          expect(pages.slice(0, -1).every((page, i) => page.length === pageSizes[i % pageSizes.length])).toBe(true)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('tells items of the same date apart', async () => {
    const dates = fc.integer({ min: 0, max: 3 }).map((millis) => new Date(millis))
    const places = fc.uniqueArray(fc.record({ date: dates, id: fc.uuid() }), { selector: ({ id }) => id })
    await fc.assert(
      fc.asyncProperty(places, async (items) => {
        const inOrder = items.toSorted((a, b) => Number(a.date) - Number(b.date) || (a.id < b.id ? -1 : 1))
        const pages = await walk([2], (page) => listOldestFirst(request(page), items, (item: DateAndId) => item))
        expect(pages.flat()).toEqual(inOrder)
      }),
      { numRuns: 30 },
    )
  })
})

describe('a page token', () => {
  const list = (fields: object) => listFromMemory(request(fields), ['a', 'b', 'c'], String)

  it('may be used with another page size, and not with another filter', async () => {
    const { nextPageToken: pageToken } = await list({ pageSize: 1, projectId: 'x' })
    expect((await list({ pageSize: 5, projectId: 'x', pageToken })).items).toEqual(['b', 'c'])
    await expect(list({ pageSize: 1, projectId: 'y', pageToken })).rejects.toThrow('page_token')
  })

  it('that was made up is refused', async () => {
    const { nextPageToken } = await list({ pageSize: 1 })
    const fingerprint = Buffer.from(nextPageToken, 'base64url').toString().slice(0, -1)
    await expect(list({ pageToken: token(`${fingerprint}a`) })).resolves.toMatchObject({ items: ['b', 'c'] })
    for (const pageToken of [token(`${fingerprint}a\0`), token('a'), token(fingerprint.slice(1)), '%%%'])
      await expect(list({ pageToken })).rejects.toThrow('page_token')
  })
})
