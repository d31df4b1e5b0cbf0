/**
 * The files for TLS that a command is given: whom to trust, and the client certificate to present.
 */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { clientVariable } from '../../config/environment.ts'
import type { Server } from '../../secret-files/contexts.ts'
import type { Io } from '../io.ts'

export interface TlsFiles {
  readonly ca?: string | undefined
  readonly clientCert?: string | undefined
  readonly clientKey?: string | undefined
}

export interface TlsOptions {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

const NAMES = {
  ca: '--ca or KEYTURN_CA_FILE',
  clientCert: '--client-cert or KEYTURN_CLIENT_CERT_FILE',
  clientKey: '--client-key or KEYTURN_CLIENT_KEY_FILE',
} as const

/** The TLS files that options name, or variables, or a context. A pair is not mixed from several sources. */
export function tlsFilesFrom({ env }: Pick<Io, 'env'>, options: TlsFiles, context: Partial<Server> = {}): TlsFiles {
  const named = {
    ca: clientVariable(env, 'KEYTURN_CA_FILE'),
    clientCert: clientVariable(env, 'KEYTURN_CLIENT_CERT_FILE'),
    clientKey: clientVariable(env, 'KEYTURN_CLIENT_KEY_FILE'),
  }
  const { ca_file: ca, client_cert_file: clientCert, client_key_file: clientKey } = context
  const sources = [options, named, { ca, clientCert, clientKey }]
  const pair = sources.find((source) => source.clientCert !== undefined || source.clientKey !== undefined)
  return { ca: options.ca ?? named.ca ?? ca, clientCert: pair?.clientCert, clientKey: pair?.clientKey }
}

/**
 * Reads and checks the files.
 *
 * @throws {Error} that says which file is wrong, in which way, and what to do. It repeats nothing of a file.
 */
export async function readTlsFiles({ ca, clientCert, clientKey }: TlsFiles): Promise<TlsOptions> {
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw new Error(
      `a client certificate needs its private key, and the other way round: give ${NAMES.clientCert}, and ${NAMES.clientKey}`,
    )
  }
  const trusted = ca === undefined ? {} : { ca: await readCertificates('ca', ca) }
  if (clientCert === undefined || clientKey === undefined) return trusted
  const cert = await readCertificates('clientCert', clientCert)
  const key = await read('clientKey', clientKey)
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    const code = codeOf(cause)
    throw new Error(
      code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH'
        ? `the private key in ${clientKey} does not belong to the certificate in ${clientCert}`
        : `${clientKey} has no private key that can be used (${code}): it must be PEM, without a passphrase`,
      { cause },
    )
  }
  return { ...trusted, cert, key }
}

async function readCertificates(kind: keyof typeof NAMES, path: string): Promise<string> {
  const pem = await read(kind, path)
  try {
    new X509Certificate(pem)
    return pem
  } catch (cause) {
    throw new Error(`${path} has no certificate: name a PEM file with certificates with ${NAMES[kind]}`, { cause })
  }
}

async function read(kind: keyof typeof NAMES, path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`cannot read ${path} (${codeOf(cause)}): name a PEM file with ${NAMES[kind]}`, { cause })
  })
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : 'unknown'
}
