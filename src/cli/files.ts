/**
 * Files that arguments and options name. A private key is not sent, not even to be refused.
 */
import { readFile } from 'node:fs/promises'
import { isSecretJwk } from '../domain/keys/jwk-members.ts'

export type Jwk = Readonly<Record<string, unknown>>

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

/** The JSON object in a file. Undefined: there is none. @throws {Error} if it is a private JWK, or a JWK set with one. */
export async function readJwks(file: string, what = 'public keys'): Promise<Jwk | undefined> {
  const document = objectIn(await readTextFile(file))
  if ([document, ...keysIn(document)].some((key) => key !== undefined && isSecretJwk(key)))
    throw privateKeyIn(file, what)
  return document
}

/** The keys of a JWK set; empty for something else. */
export function keysIn(document: Jwk | undefined): readonly Jwk[] {
  const { keys } = document ?? {}
  return Array.isArray(keys) ? keys.map((key) => ({ ...key })) : []
}

export function objectIn(text: string): Jwk | undefined {
  try {
    const document: unknown = JSON.parse(text)
    return typeof document === 'object' && document !== null ? { ...document } : undefined
  } catch {
    return undefined
  }
}

function privateKeyIn(file: string, what: string): Error {
  return new Error(`${file} has a private key: nothing was sent; make a file with the ${what} only`)
}
