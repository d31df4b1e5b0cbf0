/**
 * The form of a request, which is read and decoded once, and what a JWT in it says before its signature is verified: good for choosing how to verify
 * it, and for nothing else.
 */
import type { IncomingMessage } from 'node:http'
import { parse } from 'node:querystring'
import { errors } from 'oidc-provider'
import { Refusal } from './answers.ts'

/** Far more than a JWT that is verified, scopes and resources take, in bytes. */
const MAX_FORM_BYTES = 32 * 1024

const MAX_FIELDS = 1000

/** So many parts of a form are kept apart. */
const MAX_CHUNKS = 64

const FORM = /^application\/x-www-form-urlencoded *(?:;|$)/i

/** The fields by name; a list where a name is repeated. */
export type Form = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Reads the form. Undefined: the client left before it was complete.
 *
 * @throws {Refusal} 415 with a content coding, 413 if it is too long; `invalid_request` if it is no form.
 */
export async function readForm(req: IncomingMessage): Promise<Form | undefined> {
  const { 'content-type': type, 'content-encoding': coding } = req.headers
  if (coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity') {
    const description = 'the form must not be compressed: send it without Content-Encoding'
    // RFC 9110 §15.5.16.
    throw new Refusal(415, 'invalid_request', { description, headers: ['accept-encoding', 'identity'] })
  }
  const isForm = type !== undefined && FORM.test(type)
  const body = type === undefined || isForm ? await readBody(req) : 'not read'
  if (body === undefined) return undefined
  if (!isForm && body !== '') throw new errors.InvalidRequest('the body must be application/x-www-form-urlencoded')
  // A repeated parameter must be refused (RFC 6749 §3.2), so none is ignored.
  if (body.split('&', MAX_FIELDS + 1).length > MAX_FIELDS)
    throw new errors.InvalidRequest(`the form has more than ${MAX_FIELDS} fields`)
  return parse(body, '&', '=', { maxKeys: MAX_FIELDS })
}

/** The value of a field; undefined if it is empty (RFC 6749 §3.2). @throws `invalid_request` if it is there twice. */
export function fieldOf(form: Form, name: string): string | undefined {
  const value = form[name]
  if (typeof value === 'object') throw new errors.InvalidRequest(`'${name}' parameter must not be provided twice`)
  return value || undefined
}

function readBody(req: IncomingMessage): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
  const tooLong = () => reject(new Refusal(413, 'invalid_request', { description: TOO_LONG }))
  // Of an announced length that is too great, nothing is read.
  if (Number(req.headers['content-length']) > MAX_FORM_BYTES) {
    tooLong()
    return promise
  }
  let chunks: Uint8Array[] = []
  let length = 0
  const add = (chunk: Buffer): void => {
    length += chunk.length
    chunks.push(chunk)
    // Of a form that comes in bytes, each chunk takes a hundred times its size.
    if (chunks.length === MAX_CHUNKS) chunks = [Buffer.concat(chunks)]
    if (length <= MAX_FORM_BYTES) return
    req.off('data', add).pause()
    tooLong()
  }
  req
    .on('data', add)
    .once('end', () => resolve(Buffer.concat(chunks).toString()))
    .once('close', () => resolve(undefined))
    .once('error', () => resolve(undefined))
  return promise
}

const TOO_LONG = `the form is longer than ${MAX_FORM_BYTES} bytes`

/** The claims; undefined if the text is no JWT. */
export function unverifiedClaims(jwt: string): Readonly<Record<string, unknown>> | undefined {
  return objectIn(jwt.split('.')[1])
}

/** The members of the header; undefined if the text is no JWT. */
export function unverifiedHeader(jwt: string): Readonly<Record<string, unknown>> | undefined {
  return objectIn(jwt.split('.', 1)[0])
}

function objectIn(part = ''): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}
