/**
 * Lists that have more than one page.
 */

/** The greatest number of items that a page has. */
const LARGEST = 1000

interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

interface Page {
  readonly nextPageToken: string
}

/** The items of all pages, which a page has under a name. */
export async function everyItemOf<Name extends string, P extends Page & Readonly<Record<Name, readonly unknown[]>>>(
  name: Name,
  read: (page: PageRequest) => Promise<P>,
): Promise<P[Name][number][]> {
  const all: P[Name][number][] = []
  for await (const page of pagesOf(read)) all.push(...page[name])
  return all
}

/** One page after the other. */
export async function* pagesOf<P extends Page>(read: (page: PageRequest) => Promise<P>): AsyncGenerator<P> {
  let pageToken = ''
  do {
    const page = await read({ pageSize: LARGEST, pageToken })
    yield page
    pageToken = page.nextPageToken
  } while (pageToken !== '')
}
