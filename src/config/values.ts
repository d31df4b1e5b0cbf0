/** Parsers and formatters for the values of settings. A parser throws an {Error} that says what the value must be. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import type { RoleRule } from '../domain/console/person.ts'
import { messageOf } from '../domain/errors.ts'
import { INSTANCE_ROLE_NAMES } from '../domain/identities/permission.ts'
import { parseBaseUrl } from './base-url.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** What a parser makes of a text. */
export function parsed<T>(parse: (text: string) => T) {
  return z.string().transform((text, context) => {
    try {
      return parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: messageOf(error) })
      return z.NEVER
    }
  })
}

export function wholeNumber(fallback: number, { min, max }: { min: number; max: number }) {
  const message = `must be a whole number from ${min} to ${max}`
  return parsed((text) => toWholeNumber(text, { min, max, message })).prefault(String(fallback))
}

export function oneOf<const T extends readonly [string, ...string[]]>(values: T, fallback: T[number]) {
  return z.enum(values, { error: `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}` }).default(fallback)
}

export function parseAddress(text: string): ListenAddress {
  const [, ipv6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text) ?? []
  const host = ipv6 ?? name
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) }
  throw new Error('must be host:port, for example 127.0.0.1:8080 or [::1]:8080')
}

/** A program and its arguments: a JSON array of texts, or words between blanks. There is no shell, so no quotes either. */
export function parseArguments(text: string): readonly string[] {
  const words = text.trim().startsWith('[') ? jsonOf(text) : text.split(/\s+/).filter((word) => word !== '')
  const { data } = z.array(z.string().regex(/^[^\0]*$/)).safeParse(words)
  if (data?.[0]) return data
  throw new Error(
    'must be a program and its arguments: words between blanks, or a JSON array such as ["vault", "read", "…"]',
  )
}

/** The greatest number of processes that share a port. */
const MAX_WORKERS = 64

export function parseWorkers(text: string): number {
  if (text === 'auto') return Math.min(MAX_WORKERS, availableParallelism())
  const message = `must be a whole number from 1 to ${MAX_WORKERS}, or auto`
  return toWholeNumber(text, { min: 1, max: MAX_WORKERS, message })
}

/** IP addresses and networks (RFC 4632, RFC 4291 §2.3), comma-separated, with optional spaces. */
export function parseNetworks(text: string): readonly string[] {
  const networks = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const wrong = networks.filter((network) => !isNetwork(network))
  if (wrong.length === 0) return networks
  throw new Error(`must be IP addresses or networks such as 10.0.0.0/8, comma-separated; not so: ${wrong.join(', ')}`)
}

export function toBaseUrl(text: string): string {
  return parseBaseUrl(text, (problem) => {
    throw new Error(problem)
  })
}

/** The issuer of an OpenID provider: like a base URL, but it may have a path. */
export function parseIssuer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.search !== '' || url.hash !== '')
    throw new Error('must be the URL of the issuer, without query and fragment')
  toBaseUrl(url.origin)
  return text
}

const OPENID_ROLES = z.partialRecord(
  z.enum(INSTANCE_ROLE_NAMES),
  z.record(z.string().min(1), z.union([z.string(), z.array(z.string()).min(1)])),
)

/** A JSON object: for each role the claims that give it, with a value or a list of values. */
export function parseOpenIdRoles(text: string): readonly RoleRule[] {
  const { data = {} } = OPENID_ROLES.safeParse(jsonOf(text))
  const rules = Object.entries(data).flatMap(([role, claims]) =>
    Object.entries(claims).map(([claim, value]) => ({ role, claim, values: [value].flat() }) as RoleRule),
  )
  if (rules.length > 0) return rules
  throw new Error('must say in JSON which claim gives which role, for example {"IAM_OWNER":{"groups":["platform"]}}')
}

export function parsePostgresUrl(text: string): string {
  if (URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol)) return text
  throw new Error('must be a URL that starts with postgres://')
}

export function readPostgresUrl(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    return parsePostgresUrl(text.trim())
  } catch {
    throw new Error('must be the path of a file with a URL that starts with postgres://')
  }
}

export function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password !== '') url.password = '***'
  if (url.searchParams.has('password')) url.searchParams.set('password', '***')
  return url.href
}

function toWholeNumber(text: string, { min, max, message }: { min: number; max: number; message: string }): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new Error(message)
}

function isNetwork(text: string): boolean {
  const [, address = '', prefix] = /^([^/]+?)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && Number(prefix ?? 0) <= (version === 4 ? 32 : 128)
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
