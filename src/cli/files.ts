/**
 * Files that arguments and options name. A private key is not sent, not even to be refused.
 */
import { readFile } from 'node:fs/promises'
import { isSecretJwk } from '../domain/keys/jwk-members.ts'

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

/** Text with a JWK or a JWK set. @throws {Error} if the file has neither, or a private key. @param what The file should have only this. */
export async function readJwks(file: string, what = 'public keys'): Promise<string> {
  const text = await readTextFile(file)
  const keys = keysIn(text)
  if (keys.length === 0) throw new Error(`${file} is neither a JWK nor a JWK set (RFC 7517)`)
  if (keys.some(isSecretJwk)) throw privateKeyIn(file, what)
  return text
}

/** The object in a text and, if it is a JWK set, its keys. */
function keysIn(text: string): readonly Readonly<Record<string, unknown>>[] {
  try {
    const document = JSON.parse(text)
    return [document, ...(Array.isArray(document.keys) ? document.keys : [])].map((key) => ({ ...key }))
  } catch {
    return []
  }
}

function privateKeyIn(file: string, what: string): Error {
  return new Error(`${file} has a private key: nothing was sent; make a file with the ${what} only`)
}
