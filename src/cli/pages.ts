/**
 * Lists that the API gives a page at a time (AIP-158), as if they came in one piece.
 */

/** As many as the API gives at a time. */
const PAGE_SIZE = 1000

/** What asks for a page. */
interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

/** Every item of a list, page after page. A page is only fetched when its items are wanted. */
export async function* itemsOf<Response extends { readonly nextPageToken: string }, Item>(
  list: (page: PageRequest) => Promise<Response>,
  items: (response: Response) => readonly Item[],
): AsyncGenerator<Item, void> {
  let pageToken = ''
  do {
    const response = await list({ pageSize: PAGE_SIZE, pageToken })
    yield* items(response)
    pageToken = response.nextPageToken
  } while (pageToken !== '')
}

/** Every item of a list at once. */
export async function everyItemOf<Response extends { readonly nextPageToken: string }, Item>(
  list: (page: PageRequest) => Promise<Response>,
  items: (response: Response) => readonly Item[],
): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of itemsOf(list, items)) all.push(item)
  return all
}
