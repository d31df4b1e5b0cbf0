/**
 * Credentials of the first administrator that an operator has made before the instance: for platforms where files of a server do not
 * outlive it, and where secrets come from outside.
 */
import { isClientSecret } from '../crypto/secrets.ts'
import { type ClientId, splitClientId } from '../domain/identities/client-id.ts'
import { readCredentials } from './credentials-file.ts'

export interface InitialAdministrator extends ClientId {
  readonly clientSecret: string
}

/**
 * Reads a file with such credentials.
 *
 * @param baseUrl That of the server. Credentials for another one are refused: their owner could not use them.
 * @throws {Error} that names the file, says what to do and has no part of the secret.
 */
export async function readInitialCredentials(path: string, baseUrl: string): Promise<InitialAdministrator> {
  const { base_url, client_id, client_secret: clientSecret } = await readCredentials(path)
  const remedy = 'make the file with "keyturn initial-credentials"'
  if (base_url !== baseUrl) throw new Error(`${path} is for ${base_url}, and this server is ${baseUrl}: ${remedy}`)
  const clientId = splitClientId(client_id)
  if (clientId === undefined) throw new Error(`the client_id in ${path} is no client ID: ${remedy}`)
  if (!isClientSecret(clientSecret)) throw new Error(`the client_secret in ${path} was not generated: ${remedy}`)
  return { ...clientId, clientSecret }
}
