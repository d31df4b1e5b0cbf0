/**
 * Fetches a JSON document, with a timeout and a limit of its size. What the document says is for callers to check.
 *
 * Uses nothing but the Web platform, so that `keyturn/client` and `keyturn/verify` run in Node.js, Deno, Bun and browsers.
 */

/** A document, and the headers of the response. */
export interface JsonDocument {
  readonly content: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

/** How to fetch. */
export interface FetchOptions {
  readonly fetch: typeof fetch
  readonly timeoutMillis: number
}

/** Fifty times the JWKS of an instance with 50 keys. */
const MAX_BYTES = 2 * 1024 * 1024

/** Gets a document. A redirect is an error. @throws {Error} if there is none at the address, in one sentence. */
export async function fetchJson(url: string, { fetch, timeoutMillis }: FetchOptions): Promise<JsonDocument> {
  const signal = AbortSignal.timeout(timeoutMillis)
  const response = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal }).catch(
    (cause: unknown) => {
      throw new Error(`cannot reach ${url}`, { cause })
    },
  )
  if (!response.ok) {
    await discard(response)
    throw new Error(`${url} answered with status ${response.status}`)
  }
  const content = await readJson(response)
  if (content === undefined) throw new Error(`${url} answered with something else than a JSON object`)
  return { content, headers: response.headers }
}

/** The JSON object in a response; undefined if there is none, or if it is too long or incomplete. */
export async function readJson(response: Response): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const content: unknown = JSON.parse(await readText(response))
    const isObject = typeof content === 'object' && content !== null && !Array.isArray(content)
    return isObject ? (content as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

/** Lets the connection go, without reading what is left of the response. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined)
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return ''
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let [text, length] = ['', 0]
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    length += value.byteLength
    if (length > MAX_BYTES) {
      await reader.cancel()
      throw new Error(`the response is longer than ${MAX_BYTES} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}
