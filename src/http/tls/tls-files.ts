/**
 * The TLS files of the server: its certificate and private key, and the authorities of client certificates. Reloaded when they
 * change.
 */
import { X509Certificate } from 'node:crypto'
import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { messageOf } from '../../domain/errors.ts'
import type { Log } from '../../domain/ports/runtime.ts'

export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  /** The trusted authorities of client certificates. Null: clients need no certificate. */
  readonly clientCaFile: string | null
}

export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
  readonly ca?: Buffer
  readonly ciphers: string
  readonly minVersion: 'TLSv1.2'
}

/** Authenticated encryption with forward secrecy only (RFC 9325 §4.2): no CBC, no static RSA. TLS 1.3 suites come first. */
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

/** @throws {Error} that names the files, if they cannot be read or do not match. */
export async function readCertificate({ certFile, keyFile, clientCaFile }: TlsFiles): Promise<Certificate> {
  let certificate: Certificate
  try {
    const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
    certificate = { cert, key, ciphers: CIPHERS, minVersion: 'TLSv1.2' }
    createSecureContext(certificate)
  } catch (error) {
    throw new Error(`cannot use the certificate ${certFile} with the key ${keyFile}: ${messageOf(error)}`, {
      cause: error,
    })
  }
  return clientCaFile === null ? certificate : { ...certificate, ca: await readAuthorities(clientCaFile) }
}

/**
 * Calls `onChange` with each new certificate, until the returned function is called. An unusable one is logged and ignored: while
 * certificate and key are replaced one after the other, they do not match for a moment.
 */
export function watchCertificate(files: TlsFiles, log: Log, onChange: (certificate: Certificate) => void): () => void {
  const paths = [files.certFile, files.keyFile, files.clientCaFile].filter((path) => path !== null)
  return reloadOnChange(paths, {
    read: () => readCertificate(files),
    onRead: (certificate) => {
      onChange(certificate)
      log.info(files, 'the certificate was reloaded')
    },
    onFailure: (error) => log.warn({ err: error }, 'the certificate was not reloaded, the old one stays in use'),
  })
}

/** The SHA-256 fingerprints of all certificates in a PEM text. @throws {Error} if one cannot be parsed. */
export function authoritiesIn(pem: Buffer | '' = ''): ReadonlySet<string> {
  const certificates = String(pem).match(CERTIFICATE) ?? []
  return new Set(certificates.map((certificate) => new X509Certificate(certificate).fingerprint256))
}

/** An empty file is an error: it must mean neither that no client is trusted nor that clients need no certificate. */
async function readAuthorities(clientCaFile: string): Promise<Buffer> {
  try {
    const ca = await readFile(clientCaFile)
    if (authoritiesIn(ca).size === 0) throw new Error('there is no certificate in it')
    return ca
  } catch (error) {
    throw new Error(`cannot use the client CA ${clientCaFile}: ${messageOf(error)}`, { cause: error })
  }
}

/** How often the files are polled, in milliseconds. File events do not work on mounted secrets. */
const POLL_INTERVAL = 1_000

/** What is read, and what becomes of it. */
interface Reload<T> {
  readonly read: () => Promise<T>
  readonly onRead: (value: T) => void
  readonly onFailure: (error: unknown) => void
}

/** Reads one after the other, so that the newest wins. @returns Stops it: nothing is called from then on. */
export function reloadOnChange<T>(files: readonly string[], { read, onRead, onFailure }: Reload<T>): () => void {
  let isStopped = false
  let reading = Promise.resolve()
  const reload = (): void => {
    reading = reading
      .then(read)
      .then((value) => {
        if (!isStopped) onRead(value)
      })
      .catch((error: unknown) => {
        if (!isStopped) onFailure(error)
      })
  }
  for (const file of files) watchFile(file, { interval: POLL_INTERVAL, persistent: false }, reload)
  return () => {
    isStopped = true
    for (const file of files) unwatchFile(file, reload)
  }
}
