/**
 * A file of the console in memory, with its content codings and entity tags.
 */
import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { isUnchanged } from '../../domain/entity-tag.ts'

/** The content types of what a build makes. */
const TYPES: Readonly<Record<string, { readonly type: string; readonly isText: boolean }>> = {
  html: { type: 'text/html; charset=utf-8', isText: true },
  js: { type: 'text/javascript; charset=utf-8', isText: true },
  css: { type: 'text/css; charset=utf-8', isText: true },
  svg: { type: 'image/svg+xml', isText: true },
  json: { type: 'application/json', isText: true },
  txt: { type: 'text/plain; charset=utf-8', isText: true },
  png: { type: 'image/png', isText: false },
  ico: { type: 'image/x-icon', isText: false },
  woff2: { type: 'font/woff2', isText: false },
}

/** In the order of preference. The best compression takes 200 ms for 300 KB, in another thread, and happens once. */
const CODINGS = { br: promisify(brotliCompress), gzip: promisify<Buffer, Buffer>(gzip) } as const
type Coding = keyof typeof CODINGS

/** Below that many bytes a response does not get shorter. */
const MIN_CODED_BYTES = 512

export class PageFile {
  readonly #bytes: Buffer
  readonly #type: string
  readonly #cacheControl: string
  readonly #tag: string
  readonly #isCodable: boolean
  readonly #coded = new Map<Coding, Promise<Buffer>>()

  /** @throws {Error} if the name has an ending that is not known. */
  constructor(name: string, bytes: Buffer, cacheControl: string) {
    const { type, isText } = TYPES[name.split('.').at(-1) ?? ''] ?? unknownType(name)
    this.#bytes = bytes
    this.#type = type
    this.#cacheControl = cacheControl
    this.#tag = hash('sha256', bytes, 'base64url').slice(0, 22)
    this.#isCodable = isText && bytes.length >= MIN_CODED_BYTES
  }

  /** Answers a GET or HEAD. */
  async send(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const coding = this.#isCodable ? codingFor(req) : undefined
    // A representation has a tag of its own (RFC 9110 §8.8.3.3).
    const etag = `"${this.#tag}${coding === undefined ? '' : `-${coding}`}"`
    const headers = {
      'cache-control': this.#cacheControl,
      etag,
      ...(this.#isCodable ? { vary: 'accept-encoding' } : {}),
    }
    if (isUnchanged(req.headers['if-none-match'], etag)) {
      res.writeHead(304, headers).end()
      return
    }
    const body = coding === undefined ? this.#bytes : await this.#in(coding)
    res.writeHead(200, {
      ...headers,
      'content-type': this.#type,
      'content-length': body.length,
      ...(coding === undefined ? {} : { 'content-encoding': coding }),
    })
    res.end(req.method === 'HEAD' ? undefined : body)
  }

  #in(coding: Coding): Promise<Buffer> {
    const known = this.#coded.get(coding)
    if (known !== undefined) return known
    const coded = CODINGS[coding](this.#bytes)
    this.#coded.set(coding, coded)
    return coded
  }
}

function unknownType(name: string): never {
  throw new Error(`${name} in the built console has no known content type`)
}

/** The best coding that the client accepts (RFC 9110 §12.5.3). */
function codingFor({ headers }: IncomingMessage): Coding | undefined {
  const accepted = String(headers['accept-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .filter((item) => !/;\s*q=0(?:\.0*)?\s*$/.test(item))
    .map((item) => item.split(';', 1)[0]?.trim())
  return (['br', 'gzip'] as const).find((coding) => accepted.includes(coding))
}
