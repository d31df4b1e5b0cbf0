/**
 * The kinds of values that settings have: how they are read from text and shown again.
 */
import { isIP } from 'node:net'
import { z } from 'zod'

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

export function toBaseUrl(text: string, context: z.RefinementCtx): string {
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return refuse('must be a URL, https://…')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    return refuse('must have nothing behind the host and port: no path, query, fragment or user')
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return refuse(
      'must be https, because clients send their secrets to it; http is allowed for loopback addresses only',
    )
  }
  return url.origin
}

function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true
  return isIP(hostname) === 4 && hostname.startsWith('127.')
}

export function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol)
}

export function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password !== '') url.password = '***'
  if (url.searchParams.has('password')) url.searchParams.set('password', '***')
  return url.href
}

export function formatAddress({ host, port }: ListenAddress): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}
