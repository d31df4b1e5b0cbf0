/**
 * Lists that have more than one page.
 */

/** The greatest number of items that a page has. */
const LARGEST = 1000

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextPageToken: string
}

/** The items of all pages. */
export async function everyItemOf<Item>(
  read: (page: { pageSize: number; pageToken: string }) => Promise<Page<Item>>,
): Promise<Item[]> {
  const all: Item[] = []
  for await (const items of pagesOf(read)) all.push(...items)
  return all
}

/** One page after the other. */
export async function* pagesOf<Item>(
  read: (page: { pageSize: number; pageToken: string }) => Promise<Page<Item>>,
): AsyncGenerator<readonly Item[]> {
  let pageToken = ''
  do {
    const { items, nextPageToken } = await read({ pageSize: LARGEST, pageToken })
    yield items
    pageToken = nextPageToken
  } while (pageToken !== '')
}
