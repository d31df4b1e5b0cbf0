/**
 * The form of a token request: its content coding, reading it for the fast path, and its limits for oidc-provider.
 */
import type { IncomingMessage } from 'node:http'

/** Far more than a client ID, a secret and scopes take, in bytes. */
const MAX_SMALL_FORM_BYTES = 4096

/** Far more than a JWT that is verified, scopes and resources take, in bytes. */
const MAX_FORM_BYTES = 32 * 1024

/** The parser of oidc-provider, `node:querystring`, silently ignores later fields. */
const MAX_FIELDS = 1000

/** So many parts of a form are kept apart. */
const MAX_CHUNKS = 64

const FORM = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i
const SEPARATOR = '&'.charCodeAt(0)

/** Whether the form is compressed. `identity` means it is not, although RFC 9110 §8.4.1 reserves it for `Accept-Encoding`. */
export function hasContentCoding({ headers }: IncomingMessage): boolean {
  const coding = headers['content-encoding']
  return coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity'
}

/** Whether the request has a form that `takeForm` can take. */
export function hasSmallForm({ method, headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length'])
  return method === 'POST' && length > 0 && length <= MAX_SMALL_FORM_BYTES && FORM.test(headers['content-type'] ?? '')
}

/**
 * Passes the form to `take` when it is complete. If `take` returns undefined or a promise, the form is put back, so that
 * oidc-provider can read it.
 *
 * @param req Must have a small form that has not been read.
 * @param take Must not throw.
 * @returns What `take` returns; `client_left` if the client leaves before the form is complete.
 */
export function takeForm<T>(
  req: IncomingMessage,
  take: (form: string) => T | undefined | Promise<T | undefined>,
): Promise<T | undefined | 'client_left'> {
  const length = Number(req.headers['content-length'])
  return new Promise((resolve) => {
    let chunks: Uint8Array[] = []
    let received = 0
    const end = (taken: T | undefined | 'client_left' | Promise<T | undefined>): void => {
      req.off('data', add).off('close', leave)
      resolve(taken)
    }
    const leave = (): void => end('client_left')
    const add = (chunk: Buffer): void => {
      chunks = withChunk(chunks, chunk)
      received += chunk.length
      if (received < length) return
      const body = chunks.length === 1 && received === chunk.length ? chunk : Buffer.concat(chunks)
      const taken = take(body.toString())
      // A stream takes nothing back after its end, which is emitted next.
      if (taken === undefined || taken instanceof Promise) {
        req.pause()
        req.unshift(body)
      }
      end(taken)
    }
    req.on('data', add).once('close', leave)
  })
}

/** Adds a chunk. Of a form that comes in bytes, each chunk takes a hundred times its size, so they are joined now and then. */
function withChunk(chunks: Uint8Array[], chunk: Uint8Array): Uint8Array[] {
  chunks.push(chunk)
  return chunks.length < MAX_CHUNKS ? chunks : [Buffer.concat(chunks)]
}

/** Why a form is refused before it is understood. */
export interface FormRefusal {
  readonly status: 400 | 413
  readonly description: string
}

const TOO_LONG: FormRefusal = { status: 413, description: `the form is longer than ${MAX_FORM_BYTES} bytes` }

const TOO_MANY_FIELDS: FormRefusal = { status: 400, description: `the form has more than ${MAX_FIELDS} fields` }

const REFUSAL = Symbol('form refusal')

type RequestWithRefusal = IncomingMessage & { [REFUSAL]?: FormRefusal }

/**
 * Makes reading the body fail after 32 KiB or 1000 fields; `formRefusalOf` tells. A repeated parameter must be refused (RFC 6749
 * §3.2), and the parser of oidc-provider would not see it there.
 */
export function limitForm(req: RequestWithRefusal): void {
  // Of an announced length that is far too great, oidc-provider reads nothing.
  if (Number(req.headers['content-length']) > MAX_FORM_BYTES) req[REFUSAL] = TOO_LONG
  const iterate = req.iterator.bind(req)
  req.iterator = (options) => withLimits(iterate(options), req)
}

/** Why the form could not be read; undefined if it was. */
export function formRefusalOf(req: RequestWithRefusal): FormRefusal | undefined {
  return req[REFUSAL]
}

/** Every character set that oidc-provider reads has this byte in each separator. */
async function* withLimits(
  chunks: AsyncIterable<Uint8Array>,
  req: RequestWithRefusal,
): AsyncGenerator<Uint8Array, undefined> {
  let [length, fields] = [0, 1]
  let form: Uint8Array[] = []
  for await (const chunk of chunks) {
    length += chunk.length
    for (let at = chunk.indexOf(SEPARATOR); at >= 0; at = chunk.indexOf(SEPARATOR, at + 1)) fields += 1
    if (length > MAX_FORM_BYTES) req[REFUSAL] = TOO_LONG
    else if (fields > MAX_FIELDS) req[REFUSAL] = TOO_MANY_FIELDS
    if (req[REFUSAL] !== undefined) throw new Error(req[REFUSAL].description)
    form = withChunk(form, chunk)
  }
  yield Buffer.concat(form)
}
