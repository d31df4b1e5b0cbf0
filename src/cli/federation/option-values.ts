/**
 * Values of arguments and options of issuers, refused here with what to write instead. The server has the last word.
 */
import { InvalidArgumentError } from 'commander'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** @throws {InvalidArgumentError} for a text that is no name of an issuer. */
export function assertIssuerName(text: string): void {
  const { protocol, hostname, username, search, hash } = URL.canParse(text) ? new URL(text) : {}
  const isHttp = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname ?? ''))
  const isUrl = isHttp && username === '' && search === '' && hash === ''
  if (isUrl || /^spiffe:\/\/[a-z0-9._-]{1,255}$/.test(text)) return
  throw new InvalidArgumentError('It is an https URL (http on a loopback address), or spiffe:// and a trust domain.')
}

/** Where keys are fetched from. @throws {InvalidArgumentError} */
export function parseKeysUrl(text: string): string {
  const { protocol, username, password } = URL.canParse(text) ? new URL(text) : {}
  if (protocol === 'https:' && username === '' && password === '') return text
  throw new InvalidArgumentError('It is an https URL without a user.')
}

/** A parser of a number of seconds in a range. It throws {InvalidArgumentError}. */
export function secondsBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (seconds >= least && seconds <= most) return seconds
    throw new InvalidArgumentError(`It is a number of seconds, ${least} to ${most}.`)
  }
}
