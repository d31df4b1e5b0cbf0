/**
 * A bare `node:http` server that sends one document: the bytes and headers that the file named by its argument has, and
 * 304 to those who have them.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What is sent, as JSON in a file. */
export interface SentDocument {
  readonly body: string
  readonly etag: string
  /** Of the answer with the body, without those that `node:http` adds. */
  readonly headers: Readonly<Record<string, string>>
  /** Of 304. */
  readonly unchangedHeaders: Readonly<Record<string, string>>
}

const { body, etag, headers, unchangedHeaders } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
) as SentDocument
const bytes = Buffer.from(body)

const server = createServer((request, response) => {
  if (request.headers['if-none-match'] === etag) response.writeHead(304, unchangedHeaders).end()
  else response.writeHead(200, headers).end(bytes)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`document listens on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit())
