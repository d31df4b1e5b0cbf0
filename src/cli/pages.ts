/**
 * Reads all pages of a list of the API (AIP-158).
 */

/** The largest page of the API. */
const PAGE_SIZE = 1000

/** The fields of a request for a page. */
interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

/** Every item of a list. A page is fetched when its first item is consumed. */
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
