/**
 * Pagination of lists (AIP-158).
 *
 * A page token holds the cursor, which is the last item of its page, and a fingerprint of the request: a token of another list, or
 * of the same list with other filters, is refused. It is neither secret nor authenticated.
 */
import { createHash } from 'node:crypto'
import { isUuid } from '../../domain/identifiers.ts'
import type { Page } from '../../domain/ports/identities.ts'
import { invalidField } from './violations.ts'

const DEFAULT_PAGE_SIZE = 100

/** The fields of every request for a list. */
interface ListRequest {
  readonly pageSize: number
  readonly pageToken: string
}

/** The cursor of a list as a text. */
export interface CursorCodec<Item, Cursor> {
  encode(item: Item): string
  /** The cursor; undefined if the text is invalid. */
  decode(text: string): Cursor | undefined
}

/** One page, and the token of the next one; empty on the last page. */
export interface ListPage<Item> {
  readonly items: readonly Item[]
  readonly nextPageToken: string
}

/**
 * Reads the page that a request asks for.
 *
 * @param read Reads at most `limit` items after the cursor, in the order of the list.
 * @throws {ConnectError} `invalid_argument` for a page token that this list has not returned.
 */
export async function listPage<Item, Cursor>(
  request: ListRequest,
  codec: CursorCodec<Item, Cursor>,
  read: (page: Page<Cursor>) => Promise<readonly Item[]>,
): Promise<ListPage<Item>> {
  const size = request.pageSize === 0 ? DEFAULT_PAGE_SIZE : request.pageSize
  const fingerprint = fingerprintOf(request)
  const after = request.pageToken === '' ? null : readToken(request.pageToken, fingerprint, codec)
  // One more than asked for shows whether there is a next page.
  const found = await read({ after, limit: size + 1 })
  const items = found.slice(0, size)
  const last = items.at(-1)
  const isLastPage = found.length <= size || last === undefined
  return { items, nextPageToken: isLastPage ? '' : writeToken(fingerprint + codec.encode(last)) }
}

/** Reads the page that a request asks for of items that are in memory. @param keyOf What they are ordered by. */
export function listFromMemory<Item>(request: ListRequest, items: readonly Item[], keyOf: (item: Item) => string) {
  const inOrder = items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  return listPage(request, byName(keyOf), async ({ after, limit }) =>
    inOrder.filter((item) => after === null || keyOf(item) > after).slice(0, limit),
  )
}

/** The same by date and id. */
export function listOldestFirst<Item>(
  request: ListRequest,
  items: readonly Item[],
  sortKeyOf: (item: Item) => DateAndId,
) {
  return listFromMemory(request, items, (item) => textOf(sortKeyOf(item)))
}

/** The cursor of lists that are ordered by name. */
export function byName<Item>(nameOf: (item: Item) => string): CursorCodec<Item, string> {
  // PostgreSQL cannot store NUL.
  return { encode: nameOf, decode: (name) => (name.includes('\0') ? undefined : name) }
}

/** The sort key of a list that is ordered by date and id. */
export interface DateAndId {
  readonly date: Date
  readonly id: string
}

/** The cursor of lists that are ordered by date and id, ascending or descending. */
export function byDate<Item, Cursor>(
  sortKeyOf: (item: Item) => DateAndId,
  toCursor: (sortKey: DateAndId) => Cursor,
): CursorCodec<Item, Cursor> {
  return {
    encode: (item) => textOf(sortKeyOf(item)),
    decode: (text) => {
      const [instant = '', id = ''] = text.split(' ', 2)
      const date = new Date(instant)
      const isDate = !Number.isNaN(date.getTime()) && /^(?!0000)\d{4}-/.test(instant)
      return isDate && isUuid(id) && textOf({ date, id }) === text ? toCursor({ date, id }) : undefined
    },
  }
}

function textOf({ date, id }: DateAndId): string {
  return `${date.toISOString()} ${id}`
}

function writeToken(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function readToken<Cursor>(token: string, fingerprint: string, codec: CursorCodec<never, Cursor>): Cursor {
  const text = Buffer.from(token, 'base64url').toString()
  const cursor = text.startsWith(fingerprint) ? codec.decode(text.slice(fingerprint.length)) : undefined
  if (cursor === undefined) {
    throw invalidField('page_token', 'must be the next_page_token of a request with the same filters')
  }
  return cursor
}

/** Equal for all pages of a list, whatever their size. The JSON of a message contains the name of its type. */
function fingerprintOf(request: ListRequest): string {
  const filters = JSON.stringify(request, (key, value: unknown) => {
    if (key === 'pageSize' || key === 'pageToken' || key === '$unknown') return undefined
    return typeof value === 'bigint' ? String(value) : value
  })
  return createHash('sha256').update(filters).digest('base64url').slice(0, 8)
}
