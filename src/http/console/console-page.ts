/**
 * Serves the built console from memory: the page at `/console/`, which is asked for again each time, and its files, whose names change with
 * their content.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONSOLE_PATH } from '../../domain/console/paths.ts'
import type { Handler } from '../requests/exchange.ts'
import type { Route } from '../requests/router.ts'
import { CONSOLE_HEADERS } from './console-headers.ts'
import { PageFile } from './page-file.ts'

const ASSETS = 'assets'
const NO_CACHE = 'no-cache'
const IMMUTABLE = 'public, max-age=31536000, immutable'

const NOT_BUILT =
  'The console is not built. In a checkout of Keyturn, "npm run build:console" builds it; then start the server again.\n'

/** The files of a build; null if there is none. */
export type BuiltConsole = { readonly page: PageFile; readonly assets: ReadonlyMap<string, PageFile> } | null

/** Reads a build. @param folder Where it is. @throws {Error} if it is there and cannot be read. */
export async function readBuiltConsole(folder: string): Promise<BuiltConsole> {
  const page = await readFile(join(folder, 'index.html')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (page === null) return null
  const names = await readdir(join(folder, ASSETS))
  const assets = names.map(async (name): Promise<[string, PageFile]> => {
    return [name, new PageFile(name, await readFile(join(folder, ASSETS, name)), IMMUTABLE)]
  })
  return { page: new PageFile('index.html', page, NO_CACHE), assets: new Map(await Promise.all(assets)) }
}

/** The routes of the page and its files. */
export function consolePageRoutes(built: BuiltConsole): [string, Route][] {
  const route = (get: Handler): Route => ({ methods: { GET: get }, cors: null, headers: CONSOLE_HEADERS })
  const page: Handler = (req, res) => (built === null ? sendText(req, res, NOT_BUILT) : built.page.send(req, res))
  const asset: Handler = (req, res) => {
    const name = req.url?.split('?', 1)[0]?.split('/').at(-1) ?? ''
    return built?.assets.get(name)?.send(req, res) ?? sendText(req, res, 'There is no such file.\n')
  }
  const redirect: Handler = (_req, res) => {
    res.writeHead(308, { location: CONSOLE_PATH, 'cache-control': NO_CACHE }).end()
  }
  return [
    [CONSOLE_PATH.slice(0, -1), route(redirect)],
    [CONSOLE_PATH, route(page)],
    [`${CONSOLE_PATH}${ASSETS}/{id}`, route(asset)],
  ]
}

const sendText: (...args: [...Parameters<Handler>, text: string]) => void = (req, res, text) => {
  res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
  res.end(req.method === 'HEAD' ? undefined : text)
}
