/**
 * The files for TLS that a command is given: whom to trust, and the client certificate to present.
 */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { clientVariable } from '../../config/client-settings.ts'
import type { Io } from '../io.ts'

/** Paths of the files. */
export interface TlsFiles {
  readonly ca?: string | undefined
  readonly clientCert?: string | undefined
  readonly clientKey?: string | undefined
}

/** What is in the files, as Node.js takes it. */
export interface TlsOptions {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** The options and variables that name each file. */
const NAMES = {
  ca: '--ca or KEYTURN_CA_FILE',
  clientCert: '--client-cert or KEYTURN_CLIENT_CERT_FILE',
  clientKey: '--client-key or KEYTURN_CLIENT_KEY_FILE',
} as const

/** The TLS files that options and variables name. A pair is not mixed from several sources. */
export function tlsFilesFrom({ env }: Pick<Io, 'env'>, { ca, clientCert, clientKey }: TlsFiles): TlsFiles {
  const trusted = ca ?? clientVariable(env, 'KEYTURN_CA_FILE')
  const pair =
    clientCert !== undefined || clientKey !== undefined
      ? { clientCert, clientKey }
      : {
          clientCert: clientVariable(env, 'KEYTURN_CLIENT_CERT_FILE'),
          clientKey: clientVariable(env, 'KEYTURN_CLIENT_KEY_FILE'),
        }
  const hasPair = pair.clientCert !== undefined || pair.clientKey !== undefined
  return { ...(trusted === undefined ? {} : { ca: trusted }), ...(hasPair ? pair : {}) }
}

/**
 * Reads and checks the files.
 *
 * @throws {Error} that says which file is wrong, in which way, and what to do. It repeats nothing of a file.
 */
export async function readTlsFiles(files: TlsFiles): Promise<TlsOptions> {
  const { ca: caFile, clientCert: certFile, clientKey: keyFile } = files
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new Error(
      `a client certificate needs its private key, and the other way round: give ${NAMES.clientCert}, and ${NAMES.clientKey}`,
    )
  }
  const ca = caFile === undefined ? undefined : await read('ca', caFile)
  const cert = certFile === undefined ? undefined : await read('clientCert', certFile)
  const key = keyFile === undefined ? undefined : await read('clientKey', keyFile)
  if (ca !== undefined) assertCertificates('ca', String(caFile), ca)
  if (cert !== undefined) assertCertificates('clientCert', String(certFile), cert)
  if (key !== undefined) assertPair({ cert, key, certFile, keyFile })
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

async function read(kind: keyof typeof NAMES, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new Error(`cannot read ${path} (${codeOf(cause)}): name a PEM file with ${NAMES[kind]}`, { cause })
  }
}

function assertCertificates(kind: keyof typeof NAMES, path: string, pem: string): void {
  try {
    new X509Certificate(pem)
  } catch (cause) {
    throw new Error(`${path} has no certificate: name a PEM file with certificates with ${NAMES[kind]}`, { cause })
  }
}

function assertPair(pair: {
  readonly cert: string | undefined
  readonly key: string
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}): void {
  const { cert, key, certFile, keyFile } = pair
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    const code = codeOf(cause)
    if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') {
      throw new Error(`the private key in ${keyFile} does not belong to the certificate in ${certFile}`, { cause })
    }
    throw new Error(`${keyFile} has no private key that can be used (${code}): it must be PEM, without a passphrase`, {
      cause,
    })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}
