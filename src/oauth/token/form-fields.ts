/**
 * Keeps forms to so many fields as the engine reads.
 *
 * Its parser, `node:querystring`, stops silently behind the thousandth field. A parameter that is there a second time would
 * not be seen there, and must be refused (RFC 6749 §3.2).
 */
import type { IncomingMessage } from 'node:http'

const MAX_FIELDS = 1000

const SEPARATOR = '&'.charCodeAt(0)

/** Makes reading the body fail at the first field beyond the thousandth. What the engine cannot read is `invalid_request`. */
export function limitFields(req: IncomingMessage): void {
  const iterate = req.iterator.bind(req)
  req.iterator = (options) => counted(iterate(options))
}

/** Every character set in which the engine reads forms has this byte in each separator. */
async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let fields = 1
  for await (const chunk of chunks) {
    for (let at = chunk.indexOf(SEPARATOR); at >= 0; at = chunk.indexOf(SEPARATOR, at + 1)) fields += 1
    if (fields > MAX_FIELDS) throw new Error(`the form has more than ${MAX_FIELDS} fields`)
    yield chunk
  }
}
