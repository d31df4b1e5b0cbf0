/**
 * The files for TLS that a command is given: whom to trust, and the client certificate to present.
 */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { clientVariable } from '../../config/environment.ts'
import type { TlsFiles } from '../../secret-files/contexts.ts'
import type { Io } from '../io.ts'

export interface TlsOptions {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** The TLS files that options name, or variables, or a context. A pair is not mixed from several sources. */
export function tlsFilesFrom({ env }: Pick<Io, 'env'>, options: TlsFiles, context: TlsFiles = {}): TlsFiles {
  const named = {
    ca: clientVariable(env, 'KEYTURN_CA_FILE'),
    clientCert: clientVariable(env, 'KEYTURN_CLIENT_CERT_FILE'),
    clientKey: clientVariable(env, 'KEYTURN_CLIENT_KEY_FILE'),
  }
  const sources = [options, named, context]
  const pair = sources.find((source) => source.clientCert !== undefined || source.clientKey !== undefined)
  return { ca: options.ca ?? named.ca ?? context.ca, clientCert: pair?.clientCert, clientKey: pair?.clientKey }
}

/**
 * Reads and checks the files.
 *
 * @throws {Error} that says which files are wrong, in which way, and what to do. It repeats nothing of a file.
 */
export async function readTlsFiles({ ca, clientCert, clientKey }: TlsFiles): Promise<TlsOptions> {
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw new Error(
      'a client certificate needs its private key, and the other way round: give --client-cert and --client-key, or ' +
        'KEYTURN_CLIENT_CERT_FILE and KEYTURN_CLIENT_KEY_FILE',
    )
  }
  const trusted = ca === undefined ? {} : { ca: await read(ca) }
  const own = clientCert && clientKey ? { cert: await read(clientCert), key: await read(clientKey) } : {}
  try {
    // Node.js itself ignores an authority that is none.
    if (trusted.ca !== undefined) new X509Certificate(trusted.ca)
    createSecureContext(own)
    return { ...trusted, ...own }
  } catch (cause) {
    const files = [ca, clientCert, clientKey].filter((file) => file !== undefined).join(', ')
    const advice = 'they must be PEM, the private key without a passphrase and of the certificate'
    throw new Error(`cannot use ${files} for TLS (${codeOf(cause)}): ${advice}`, { cause })
  }
}

async function read(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`cannot read ${path} (${codeOf(cause)})`, { cause })
  })
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : 'unknown'
}
