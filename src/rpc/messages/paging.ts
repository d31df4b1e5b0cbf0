/**
 * Pagination of lists (AIP-158).
 *
 * A page token holds the cursor, which is the last item of its page, and a fingerprint of the request: a token of another list, or
 * of the same list with other filters, is refused. It is neither secret nor authenticated.
 */
import { createHash } from 'node:crypto'
import type { Page } from '../../domain/ports/page.ts'
import { isUuid } from '../../domain/uuid.ts'
import { invalidField } from './violations.ts'

const DEFAULT_PAGE_SIZE = 100

/** The fields of every request for a list. */
interface ListRequest {
  readonly pageSize: number
  readonly pageToken: string
}

/** Encodes the cursor of a list in a token. */
export interface CursorCodec<Item, Cursor> {
  /** The cursor of an item, as texts. */
  encode(item: Item): readonly string[]
  /** The cursor; undefined if the texts are invalid. */
  decode(texts: readonly string[]): Cursor | undefined
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
  return { items, nextPageToken: isLastPage ? '' : writeToken([fingerprint, ...codec.encode(last)]) }
}

/** Reads pages of a list that is in memory. @param isAfter Whether the item comes after the cursor. */
export function fromMemory<Item, Cursor>(
  items: readonly Item[],
  isAfter: (item: Item, cursor: Cursor) => boolean,
): (page: Page<Cursor>) => Promise<readonly Item[]> {
  return async ({ after, limit }) => items.filter((item) => after === null || isAfter(item, after)).slice(0, limit)
}

/** The cursor of lists that are ordered by name. */
export function byName<Item>(nameOf: (item: Item) => string): CursorCodec<Item, string> {
  return {
    encode: (item) => [nameOf(item)],
    // PostgreSQL cannot store NUL.
    decode: ([name, ...rest]) => (name === undefined || name.includes('\0') || rest.length > 0 ? undefined : name),
  }
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
    encode: (item) => {
      const { date, id } = sortKeyOf(item)
      return [date.toISOString(), id]
    },
    decode: ([text = '', id = '', ...rest]) => {
      const date = new Date(text)
      const isDate = !Number.isNaN(date.getTime()) && date.toISOString() === text && /^(?!0000)\d{4}-/.test(text)
      return isDate && isUuid(id) && rest.length === 0 ? toCursor({ date, id }) : undefined
    },
  }
}

/** Whether `a` is after `b`, oldest first. */
export function isLater(a: DateAndId, b: DateAndId): boolean {
  return a.date.getTime() === b.date.getTime() ? a.id > b.id : a.date > b.date
}

/** Reads the page that a request asks for of items that are in memory, by date and id. */
export function listOldestFirst<Item>(
  request: ListRequest,
  items: readonly Item[],
  sortKeyOf: (item: Item) => DateAndId,
) {
  const inOrder = [...items].sort((a, b) => (isLater(sortKeyOf(a), sortKeyOf(b)) ? 1 : -1))
  const codec = byDate(sortKeyOf, (sortKey) => sortKey)
  return listPage(
    request,
    codec,
    fromMemory(inOrder, (item, cursor) => isLater(sortKeyOf(item), cursor)),
  )
}

function writeToken(texts: readonly string[]): string {
  return Buffer.from(JSON.stringify(texts)).toString('base64url')
}

function readToken<Cursor>(token: string, fingerprint: string, codec: CursorCodec<never, Cursor>): Cursor {
  const [given, ...texts] = parseTexts(token)
  const cursor = given === fingerprint ? codec.decode(texts) : undefined
  if (cursor === undefined) {
    throw invalidField('page_token', 'must be the next_page_token of a request with the same filters')
  }
  return cursor
}

function parseTexts(token: string): readonly string[] {
  try {
    const texts: unknown = JSON.parse(Buffer.from(token, 'base64url').toString())
    return Array.isArray(texts) && texts.every((text) => typeof text === 'string') ? texts : []
  } catch {
    return []
  }
}

/** Equal for all pages of a list, whatever their size. The JSON of a message contains the name of its type. */
function fingerprintOf(request: ListRequest): string {
  const filters = JSON.stringify(request, (key, value: unknown) => {
    if (key === 'pageSize' || key === 'pageToken' || key === '$unknown') return undefined
    return typeof value === 'bigint' ? String(value) : value
  })
  return createHash('sha256').update(filters).digest('base64url').slice(0, 8)
}
