/**
 * The certificate and the private key of the server, and whose certificates clients must have, read from files and
 * followed when the files change.
 */
import { X509Certificate } from 'node:crypto'
import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Log } from '../../domain/ports.ts'
import { Reloader } from './reloader.ts'

/** Where they are, PEM. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  /** Certificates of those who certify clients. Null: clients need no certificate. */
  readonly clientCaFile: string | null
}

/** What a TLS server is set up with. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  readonly ca?: Buffer
  readonly ciphers: string
  readonly minVersion: 'TLSv1.2'
}

/**
 * Authenticated encryption and forward secrecy only (RFC 9325 §4.2): no CBC, no static RSA. Those of TLS 1.3 come first.
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** How often the files are looked at, in milliseconds. Polling works on mounted secrets, where events do not. */
const LOOK_EVERY = 1_000

/** @throws {Error} that names the files, if they cannot be read or do not belong together. */
export async function readCertificate({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<Certificate> {
  let certificate: Certificate
  try {
    const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
    certificate = { cert, key, ciphers: CIPHERS, minVersion: 'TLSv1.2' }
    createSecureContext(certificate)
  } catch (error) {
    throw new Error(`cannot use the certificate ${certFile} with the key ${keyFile}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
  return clientCaFile === null ? certificate : { ...certificate, ca: await readAuthorities(clientCaFile) }
}

/**
 * Calls `onChange` with each new set, until the returned function is called. One that cannot be used is logged and left
 * out: while both files of a pair are being replaced they do not belong together for a moment.
 */
export function followCertificate(files: TlsFiles, log: Log, onChange: (certificate: Certificate) => void): () => void {
  const reloads = new Reloader({
    read: () => readCertificate(files),
    onRead: (certificate) => {
      onChange(certificate)
      log.info(files, 'the certificate was reloaded')
    },
    onFailure: (error) => log.warn({ err: error }, 'the certificate was not reloaded, the old one stays in use'),
    retryAfter: LOOK_EVERY,
  })
  const look = () => reloads.start()
  const names = [files.certFile, files.keyFile, files.clientCaFile].filter((name) => name !== null)
  for (const name of names) watchFile(name, { interval: LOOK_EVERY, persistent: false }, look)
  return () => {
    for (const name of names) unwatchFile(name, look)
    reloads.stop()
  }
}

/** The SHA-256 fingerprints of the certificates in a file. @throws {Error} if one of them is none. */
export function authoritiesIn(pem: Buffer | '' = ''): ReadonlySet<string> {
  const certificates = String(pem).match(CERTIFICATE) ?? []
  return new Set(certificates.map((certificate) => new X509Certificate(certificate).fingerprint256))
}

/** A file without a certificate in it must not be taken for one that lets nobody in, nor for none. */
async function readAuthorities(clientCaFile: string): Promise<Buffer> {
  try {
    const ca = await readFile(clientCaFile)
    if (authoritiesIn(ca).size === 0) throw new Error('there is no certificate in it')
    return ca
  } catch (error) {
    throw new Error(`cannot use the client CA ${clientCaFile}: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
