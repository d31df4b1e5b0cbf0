/**
 * What Keyturn is compared with: a plain oidc-provider, and the floor.
 */
import { join } from 'node:path'
import type { Cleanup } from '../processes/cleanup.ts'
import { startProgram } from '../processes/program.ts'
import { derivedClients } from './clients.ts'
import { type Algorithm, type Contender, USUAL_CLIENTS } from './contender.ts'

/** Where a contender may write, and what ends it. */
export interface Place {
  readonly folder: string
  readonly cleanup: Cleanup
}

/** oidc-provider with nothing of Keyturn. */
export async function startOidcProvider(algorithm: Algorithm, place: Place): Promise<Contender> {
  const url = await start('oidc-provider', algorithm, place)
  return contender('oidc-provider', url, { token: '/token', keySet: '/jwks' })
}

/** The floor. */
export async function startFloor(algorithm: Algorithm, place: Place): Promise<Contender> {
  const url = await start('floor', algorithm, place)
  return contender('floor', url, { token: '/token', keySet: '/keys' })
}

interface Started {
  readonly pid: number
  readonly url: string
}

async function start(name: string, algorithm: Algorithm, { folder, cleanup }: Place): Promise<Started> {
  const program = await startProgram({
    script: join(import.meta.dirname, `${name}-server.ts`),
    args: [algorithm],
    logFile: join(folder, `${name}.log`),
  })
  cleanup.add(program.stop)
  return program
}

function contender(
  name: string,
  { pid, url }: Started,
  paths: { readonly token: string; readonly keySet: string },
): Contender {
  return {
    name,
    pids: [pid],
    url,
    tokenUrl: url + paths.token,
    keySetUrl: url + paths.keySet,
    issuer: url,
    clients: derivedClients(USUAL_CLIENTS),
  }
}
