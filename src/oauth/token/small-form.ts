/**
 * Reads the form of a request, if it is small and says so, and puts it back for whoever comes next.
 */
import type { IncomingMessage } from 'node:http'

/** Far more than a client ID, a secret and scopes take, in bytes. */
const MAX_BYTES = 4096

const FORM = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i

/** Whether the request has a form that `takeForm` can take. */
export function hasSmallForm({ method, headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length'])
  return method === 'POST' && length > 0 && length <= MAX_BYTES && FORM.test(headers['content-type'] ?? '')
}

/**
 * Gives the form to `take` when all of it is here.
 *
 * @param req Must have a small form that nobody has begun to read.
 * @param take If it returns undefined or a promise, the request is as if nobody had read it. Must not throw.
 * @returns What `take` returns; null if the client breaks off before the form is here, and nobody waits for an answer.
 */
export function takeForm<T extends object>(
  req: IncomingMessage,
  take: (form: string) => T | undefined | Promise<T | undefined | null>,
): Promise<T | undefined | null> {
  const length = Number(req.headers['content-length'])
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let received = 0
    const end = (taken: T | undefined | null | Promise<T | undefined | null>): void => {
      req.off('data', add).off('close', leave)
      resolve(taken)
    }
    const leave = (): void => end(null)
    const add = (chunk: Buffer): void => {
      chunks.push(chunk)
      received += chunk.length
      if (received < length) return
      const body = chunks.length === 1 ? chunk : Buffer.concat(chunks)
      const taken = take(body.toString())
      // Now is the only time: what has been told that it has been read to its end takes nothing back.
      if (taken === undefined || taken instanceof Promise) {
        req.pause()
        req.unshift(body)
      }
      end(taken)
    }
    req.on('data', add).once('close', leave)
  })
}
