/**
 * Serves the built console from memory: the page at `/console/`, which is asked for again each time, and its files, whose names change with
 * their content.
 */
import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { CONSOLE_PATH } from '../../domain/console/sign-ins.ts'
import type { HeaderList } from '../../domain/http-headers.ts'
import { isUnchanged } from '../../domain/http-headers.ts'
import type { Handler } from '../requests/exchange.ts'
import type { Route } from '../requests/router.ts'

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Of every response of the console, refusals included: no script but that of the page, nothing from elsewhere, and no frame around it. */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The same as a list. */
export const CONSOLE_HEADER_LIST: HeaderList = Object.entries(CONSOLE_HEADERS).flat()

const ASSETS = 'assets'
const NO_CACHE = 'no-cache'
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** The content types of what a build makes. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
}

const NOT_BUILT =
  'The console is not built. In a checkout of Keyturn, "npm run build:console" builds it; then start the server again.\n'

/** What answers for the files of a build; null if there is none. */
export type BuiltConsole = { readonly page: Handler; readonly assets: ReadonlyMap<string, Handler> } | null

/** Reads a build. @param folder Where it is. @throws {Error} if it is there and cannot be read, or has a file of an unknown type. */
export async function readBuiltConsole(folder: string): Promise<BuiltConsole> {
  const page = await readFile(join(folder, 'index.html')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (page === null) return null
  const names = await readdir(join(folder, ASSETS))
  const assets = names.map(async (name): Promise<[string, Handler]> => {
    return [name, await fileHandler(name, await readFile(join(folder, ASSETS, name)), IMMUTABLE)]
  })
  return { page: await fileHandler('index.html', page, NO_CACHE), assets: new Map(await Promise.all(assets)) }
}

export function consolePageRoutes(built: BuiltConsole): [string, Route][] {
  const route = (get: Handler): Route => ({ methods: { GET: get }, cors: null, headers: CONSOLE_HEADERS })
  const asset: Handler = (req, res) => {
    const name = req.url?.split('?', 1)[0]?.split('/').at(-1) ?? ''
    return (built?.assets.get(name) ?? notFound('There is no such file.\n'))(req, res)
  }
  const redirect: Handler = (_req, res) => {
    res.writeHead(308, { location: CONSOLE_PATH, 'cache-control': NO_CACHE }).end()
  }
  return [
    [CONSOLE_PATH.slice(0, -1), route(redirect)],
    [CONSOLE_PATH, route(built?.page ?? notFound(NOT_BUILT))],
    [`${CONSOLE_PATH}${ASSETS}/{id}`, route(asset)],
  ]
}

function notFound(text: string): Handler {
  return (req, res) => {
    res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    res.end(req.method === 'HEAD' ? undefined : text)
  }
}

/** Answers with a file, compressed with gzip for who takes that, if it is shorter then. */
async function fileHandler(name: string, bytes: Buffer, cacheControl: string): Promise<Handler> {
  const type = TYPES[extname(name)]
  if (type === undefined) throw new Error(`${name} in the built console has no known content type`)
  const zipped = await promisify<Buffer, Buffer>(gzip)(bytes)
  const isShorter = zipped.length < bytes.length
  const tag = hash('sha256', bytes, 'base64url').slice(0, 22)
  return (req, res) => {
    const isZipped = isShorter && takesGzip(String(req.headers['accept-encoding'] ?? ''))
    // A representation has a tag of its own (RFC 9110 §8.8.3.3).
    const etag = `"${tag}${isZipped ? '-gzip' : ''}"`
    const headers = { 'cache-control': cacheControl, etag, ...(isShorter ? { vary: 'accept-encoding' } : {}) }
    if (isUnchanged(req.headers['if-none-match'], etag)) return void res.writeHead(304, headers).end()
    const body = isZipped ? zipped : bytes
    const coding = isZipped ? { 'content-encoding': 'gzip' } : {}
    res.writeHead(200, { ...headers, 'content-type': type, 'content-length': body.length, ...coding })
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}

/** RFC 9110 §12.5.3. */
function takesGzip(accepted: string): boolean {
  return /(?:^|[,\s])gzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted)
}
