/**
 * Parsers and formatters for the values of settings.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { parseBaseUrl } from './base-url.ts'

/** An address to listen on. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export function wholeNumber(fallback: number, { min, max }: { min: number; max: number }) {
  const message = `must be a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .prefault(String(fallback))
}

/** One of a few texts. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}` })
}

export function toAddress(text: string, context: z.RefinementCtx): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  if (host === undefined || !(port <= 65_535)) {
    context.addIssue({ code: 'custom', message: 'must be host:port, for example 127.0.0.1:8080 or [::1]:8080' })
    return z.NEVER
  }
  return { host, port }
}

export function toAddressOrOff(text: string, context: z.RefinementCtx): ListenAddress | null {
  return text === 'off' ? null : toAddress(text, context)
}

/** A program and its arguments: a JSON array of texts, or words between blanks. There is no shell, so no quotes either. */
export function toArguments(text: string, context: z.RefinementCtx): readonly string[] {
  const words = text.trim().startsWith('[') ? jsonOf(text) : text.split(/\s+/).filter((word) => word !== '')
  const parsed = z.array(z.string().regex(/^[^\0]*$/)).safeParse(words)
  if (parsed.data?.[0]) return parsed.data
  context.addIssue({
    code: 'custom',
    message:
      'must be a program and its arguments: words between blanks, or a JSON array such as ["vault", "read", "…"]',
  })
  return z.NEVER
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The greatest number of processes that share a port. */
const MAX_WORKERS = 64

export function toWorkers(text: string, context: z.RefinementCtx): number {
  if (text === 'auto') return Math.min(MAX_WORKERS, availableParallelism())
  const workers = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (workers < 1 || workers > MAX_WORKERS) {
    context.addIssue({ code: 'custom', message: `must be a whole number from 1 to ${MAX_WORKERS}, or auto` })
    return z.NEVER
  }
  return workers
}

/** IP addresses and networks (RFC 4632, RFC 4291 §2.3), comma-separated, with optional spaces. */
export function toNetworks(text: string, context: z.RefinementCtx): readonly string[] {
  const networks = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const wrong = networks.filter((network) => !isNetwork(network))
  if (wrong.length > 0) {
    context.addIssue({
      code: 'custom',
      message: `must be IP addresses or networks such as 10.0.0.0/8, comma-separated; not so: ${wrong.join(', ')}`,
    })
    return z.NEVER
  }
  return networks
}

function isNetwork(text: string): boolean {
  const [, address = '', prefix] = /^([^/]+?)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && Number(prefix ?? 0) <= (version === 4 ? 32 : 128)
}

export function toBaseUrl(text: string, context: z.RefinementCtx): string {
  return parseBaseUrl(text, (message) => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
}

/** The issuer of an OpenID provider: like a base URL, but it may have a path. */
export function toIssuer(text: string, context: z.RefinementCtx): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.search !== '' || url.hash !== '') {
    context.addIssue({ code: 'custom', message: 'must be the URL of the issuer, without query and fragment' })
    return z.NEVER
  }
  toBaseUrl(url.origin, context)
  return text
}

const INSTANCE_ROLES = [
  'IAM_OWNER',
  'IAM_OWNER_VIEWER',
  'IAM_KEY_OPERATOR',
  'IAM_AUDITOR',
  'IAM_USER_ADMINISTRATOR',
] as const

/** Gives a role to the people with one of these values in a claim. */
export interface OpenIdRole {
  readonly role: (typeof INSTANCE_ROLES)[number]
  readonly claim: string
  readonly values: readonly string[]
}

const OPENID_ROLES = z.partialRecord(
  z.enum(INSTANCE_ROLES),
  z.record(z.string().min(1), z.union([z.string(), z.array(z.string()).min(1)])),
)

/** A JSON object: for each role the claims that give it, with a value or a list of values. */
export function toOpenIdRoles(text: string, context: z.RefinementCtx): readonly OpenIdRole[] {
  const parsed = OPENID_ROLES.safeParse(jsonOf(text))
  const rules = Object.entries(parsed.data ?? {}).flatMap(([role, claims]) =>
    Object.entries(claims).map(([claim, value]) => ({ role, claim, values: [value].flat() }) as OpenIdRole),
  )
  if (rules.length > 0) return rules
  context.addIssue({
    code: 'custom',
    message: 'must say in JSON which claim gives which role, for example {"IAM_OWNER":{"groups":["platform"]}}',
  })
  return z.NEVER
}

export function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol)
}

/** The URL in a file. */
export function toPostgresUrlIn(path: string, context: z.RefinementCtx): string {
  let message = 'must be the path of a file with a URL that starts with postgres://'
  try {
    const url = readFileSync(path, 'utf8').trim()
    if (isPostgresUrl(url)) return url
  } catch (error) {
    message = `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`
  }
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

export function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password !== '') url.password = '***'
  if (url.searchParams.has('password')) url.searchParams.set('password', '***')
  return url.href
}
