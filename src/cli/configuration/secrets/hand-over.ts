/**
 * Generates client secrets and hands each of them over. The secret is in the memory of this process and at its target, and nowhere else.
 */
import type { JsonObject } from '@bufbuild/protobuf'
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import type { ConfiguredUser } from '../../../../gen/iam/config/v2/plan_pb.js'
import { ServiceUserService } from '../../../../gen/iam/user/v2/service_user_service_pb.js'
import type { SecretRequest } from '../../../configuration-files/configuration.ts'
import { ConfigurationMistakes, type FileMistake } from '../../../configuration-files/mistakes.ts'
import type { Credentials } from '../../../secret-files/credentials-file.ts'
import { type ConnectionOptions, findTarget } from '../../connection/target.ts'
import { describeFailure } from '../../failure.ts'
import type { Io } from '../../io.ts'
import { tokenEndpointOf } from '../../token-request.ts'
import type { ApplyProgress } from '../apply-progress.ts'
import type { DueSecret } from './planned-secrets.ts'
import { type SecretTarget, secretTarget } from './secret-target.ts'

/** A target that was found to be usable. */
interface PreparedTarget extends DueSecret {
  readonly target: SecretTarget
}

/** A secret that is at its target. */
export interface HandedOver {
  readonly words: string
  readonly json: JsonObject
}

/** Everything that handing over needs, and that can fail before anything is changed. */
export interface Preparation {
  readonly targets: readonly PreparedTarget[]
  /** Where the server is, which is part of the credentials. */
  readonly endpoints: Pick<Credentials, 'base_url' | 'token_endpoint'>
}

/**
 * Looks at all targets before anything is changed.
 *
 * @throws {ConfigurationMistakes} if one has something already, or cannot be used.
 */
export async function prepareHandOver(
  io: Io,
  options: ConnectionOptions,
  due: readonly DueSecret[],
): Promise<Preparation> {
  const targets: PreparedTarget[] = []
  const mistakes: FileMistake[] = []
  for (const { request } of due) {
    const target = secretTarget(io, request.into)
    const refusal = await refusalOf(target)
    if (refusal === undefined) targets.push({ request, target })
    else mistakes.push({ ...request.place, field: 'generateSecret.into', message: `${request.into}: ${refusal}` })
  }
  if (mistakes.length > 0) throw new ConfigurationMistakes(mistakes)
  const server = await findTarget(io, options)
  const endpoints = due.length === 0 ? '' : await tokenEndpointOf(server)
  return { targets, endpoints: { base_url: server.base_url, token_endpoint: endpoints } }
}

async function refusalOf(target: SecretTarget): Promise<string | undefined> {
  try {
    const isTaken = (await target.look()) === 'taken'
    return isTaken ? 'there is something already, which is not replaced: remove it to get a new secret' : undefined
  } catch (error) {
    return describeFailure(error)
  }
}

/** Cleans up beside targets that get no secret. Returns warnings: a failure keeps nothing back. */
export async function cleanUpTargets(io: Io, settled: readonly SecretRequest[]): Promise<readonly string[]> {
  const warnings: string[] = []
  for (const { into } of settled) {
    try {
      await secretTarget(io, into).cleanUp()
    } catch (error) {
      warnings.push(
        `cannot look for copies beside ${into}, which an interrupted apply leaves: ${describeFailure(error)}`,
      )
    }
  }
  return warnings
}

/** The user who gets a secret. */
export function userOf({ request: { project, name } }: DueSecret): string {
  return `${name}@${project}`
}

/** Hands all secrets over. One that fails does not keep back the others: `failures` has why. */
export async function handOverSecrets(
  api: Transport,
  { targets, endpoints }: Preparation,
  { users, progress }: { readonly users: readonly ConfiguredUser[]; readonly progress: ApplyProgress },
): Promise<{ readonly handedOver: readonly HandedOver[]; readonly failures: readonly Error[] }> {
  const service = createClient(ServiceUserService, api)
  const handedOver: HandedOver[] = []
  const failures: Error[] = []
  for (const { request, target } of targets) {
    const { project, name, into } = request
    const user = userOf({ request })
    progress.handingOver(user)
    try {
      const { userId = '' } = users.find((each) => each.project === project && each.name === name) ?? {}
      const { clientId, secretId } = await handOver(service, { userId, target, endpoints })
      progress.settled(user, 'handed over')
      const words = `handed over a client secret of ${user} (secret id ${secretId}) into ${into}`
      handedOver.push({ words, json: { project, name, into, clientId, secretId } })
    } catch (error) {
      progress.settled(user, 'not handed over')
      const reason = describeFailure(error)
      failures.push(new Error(`no client secret of ${user} was handed over into ${into}: ${reason}`))
    }
  }
  return { handedOver, failures }
}

async function handOver(
  users: Client<typeof ServiceUserService>,
  {
    userId,
    target,
    endpoints,
  }: { readonly userId: string; readonly target: SecretTarget; readonly endpoints: Preparation['endpoints'] },
): Promise<{ clientId: string; secretId: string }> {
  const { clientId, clientSecret, secret } = await users.generateClientSecret({ userId })
  const { secretId = '' } = secret ?? {}
  try {
    await target.handOver({ ...endpoints, client_id: clientId, client_secret: clientSecret })
    return { clientId, secretId }
  } catch (error) {
    const reason = describeFailure(error)
    await users.deleteClientSecret({ userId, secretId }).catch((failure: unknown) => {
      throw new Error(
        `${reason}; the secret ${secretId} could not be deleted again (${describeFailure(failure)}): delete it with "keyturn secrets delete"`,
      )
    })
    throw new Error(`${reason}; the secret was deleted again`)
  }
}
