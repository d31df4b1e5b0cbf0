/**
 * Files that arguments and options name. A private key is not sent, not even to be refused.
 */
import { readFile } from 'node:fs/promises'
import { isSecretJwk, publicMembersOf } from '../domain/keys/jwk-members.ts'

/** @throws {Error} if the file cannot be read, with the error of the system as its cause. */
export async function readTextFile(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`cannot read ${file}`, { cause })
  })
}

/** Text with certificates (PEM). @throws {Error} if the file has a private key. @param what The file should have only this. */
export async function readCertificates(file: string, what = 'certificates'): Promise<string> {
  const text = await readTextFile(file)
  if (/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/.test(text)) throw privateKeyIn(file, what)
  return text
}

/** The certificates that an option names. False: none any more; undefined: it names nothing. */
export async function certificatesFrom(file: string | false | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  return file === false ? '' : await readCertificates(file)
}

type Jwk = Readonly<Record<string, unknown>>

/** The public members of a JWK or a JWK set, as JSON. @throws {Error} if the file has neither, or a private key. @param what The file should have only this. */
export async function readJwks(file: string, what = 'public keys'): Promise<string> {
  const document = objectIn(await readTextFile(file))
  if (document === undefined) throw new Error(`${file} is neither a JWK nor a JWK set (RFC 7517)`)
  const keys = Array.isArray(document.keys) ? document.keys.map((key): Jwk => ({ ...key })) : undefined
  if ([document, ...(keys ?? [])].some(isSecretJwk)) throw privateKeyIn(file, what)
  return JSON.stringify(keys === undefined ? publicMembersOf(document) : { keys: keys.map(publicMembersOf) })
}

function objectIn(text: string): Jwk | undefined {
  try {
    return Object(JSON.parse(text))
  } catch {
    return undefined
  }
}

function privateKeyIn(file: string, what: string): Error {
  return new Error(`${file} has a private key: nothing was sent; make a file with the ${what} only`)
}
