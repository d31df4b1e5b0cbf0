/**
 * A client of a running server: gets a token with the credentials file and calls the API with it.
 */
import type { DescService } from '@bufbuild/protobuf'
import type { Client, Transport } from '@connectrpc/connect'
import { credentialsFileFrom } from '../config/environment.ts'
import { readCredentials } from '../secret-files/credentials-file.ts'
import type { Io } from './io.ts'
import { createJsonTransport } from './json-transport.ts'
import { API_SCOPE, requestToken } from './token-request.ts'
import { createClient } from './unary-client.ts'

/** The timeout of a call, in milliseconds. Generating a large RSA key takes seconds. */
const TIMEOUT = 60_000

/** The flag that names the credentials file. Default: the environment names it. */
interface CredentialsFlag {
  readonly credentials?: string | undefined
}

/** A transport to the API, authenticated with the credentials file. Several clients can share it. */
export async function openApi(io: Pick<Io, 'env'>, flags: CredentialsFlag): Promise<Transport> {
  const credentials = await readCredentials(credentialsFileFrom(flags, io.env))
  const { access_token } = await requestToken(credentials, API_SCOPE)
  return createJsonTransport({ baseUrl: credentials.base_url, accessToken: access_token, timeoutMs: TIMEOUT })
}

/** A client of one service. */
export async function connect<Service extends DescService>(
  io: Pick<Io, 'env'>,
  flags: CredentialsFlag,
  service: Service,
): Promise<Client<Service>> {
  return createClient(service, await openApi(io, flags))
}
