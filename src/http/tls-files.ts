/**
 * The certificate and the private key of the server, read from files and followed when the files change.
 */
import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Log } from '../domain/ports.ts'

/** Where they are, PEM. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** What a TLS server is set up with. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  readonly minVersion: 'TLSv1.2'
}

/** How often the files are looked at, in milliseconds. Polling works on mounted secrets, where events do not. */
const LOOK_EVERY = 1_000

/** @throws {Error} that names the files, if they cannot be read or do not belong together. */
export async function readCertificate({ certFile, keyFile }: TlsFiles): Promise<Certificate> {
  try {
    const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
    const certificate = { cert, key, minVersion: 'TLSv1.2' } as const
    createSecureContext(certificate)
    return certificate
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`cannot use the certificate ${certFile} with the key ${keyFile}: ${reason}`, { cause: error })
  }
}

/**
 * Calls `onChange` with each new pair, until the returned function is called. A pair that cannot be used is logged and
 * left out: while both files are being replaced they do not belong together for a moment.
 */
export function followCertificate(files: TlsFiles, log: Log, onChange: (certificate: Certificate) => void): () => void {
  const look = () => {
    readCertificate(files).then(
      (certificate) => {
        onChange(certificate)
        log.info({ certFile: files.certFile }, 'the certificate was reloaded')
      },
      (error: unknown) => log.warn({ err: error }, 'the certificate was not reloaded, the old one stays in use'),
    )
  }
  const names = [files.certFile, files.keyFile]
  for (const name of names) watchFile(name, { interval: LOOK_EVERY, persistent: false }, look)
  return () => {
    for (const name of names) unwatchFile(name, look)
  }
}
