/**
 * The client secrets that an apply hands over: each once, and again if that was interrupted.
 *
 * Nothing but the secrets of the user and the target themselves says what has happened, so that it holds wherever the command runs. A live
 * secret that was used has arrived. One that was never used has arrived if the target has something. No live secret: none was handed over.
 * A new secret is in the memory of this process and at its target, and nowhere else.
 */
import type { ConfiguredUser } from '../../../gen/iam/config/v2/plan_pb.js'
import type { ClientSecret } from '../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../gen/iam/user/v2/service_user_service_pb.js'
import type { SecretRequest } from '../../configuration-files/configuration.ts'
import { ConfigurationMistakes, type FileMistake } from '../../configuration-files/mistakes.ts'
import type { Api } from '../api.ts'
import { describeFailure } from '../failure.ts'
import type { Io } from '../io.ts'
import { type Endpoints, endpointsOf, generateInto, secretTarget } from '../secret-targets.ts'
import { isPast } from '../times.ts'

const { method: Methods } = ServiceUserService

/** What an apply would hand over, and what a person should know. */
export interface PlannedSecrets {
  readonly due: readonly SecretRequest[]
  readonly warnings: readonly string[]
}

/** Asks the server for the secrets of the users that shall have one. */
export async function planSecrets(
  io: Io,
  api: Api,
  { requests, users }: { readonly requests: readonly SecretRequest[]; readonly users: readonly ConfiguredUser[] },
): Promise<PlannedSecrets> {
  const due: SecretRequest[] = []
  const warnings: string[] = []
  const stateOf = async ({ into }: SecretRequest, live: readonly ClientSecret[]) => {
    if (live.length === 0) return 'empty'
    if (live.some(({ lastUseDate }) => lastUseDate !== undefined)) return 'taken'
    return await secretTarget(io, into)
      .look()
      .catch((error: unknown) => {
        warnings.push(`cannot look at ${into}: ${describeFailure(error)}`)
        return 'unknown' as const
      })
  }
  for (const request of requests) {
    const userId = idOf(request, users)
    const live = userId === '' ? [] : (await api.all(Methods.listClientSecrets, 'secrets', { userId })).filter(isLive)
    const state = await stateOf(request, live)
    if (state === 'empty') due.push(request)
    if (live.length > 0 && state !== 'taken') warnings.push(unusedWarning(request, live, state))
  }
  return { due, warnings }
}

function isLive({ deactivationDate, expirationDate }: ClientSecret): boolean {
  return deactivationDate === undefined && (expirationDate === undefined || !isPast(expirationDate))
}

function unusedWarning(request: SecretRequest, live: readonly ClientSecret[], state: 'empty' | 'unknown'): string {
  const ids = live.map(({ secretId }) => secretId).join(', ')
  const unused = `${userOf(request)} has a client secret that was never used`
  return state === 'empty'
    ? `${unused} and is not at its target, as an interrupted apply leaves it. ` +
        `It gets another one; delete this one with "keyturn secrets delete": ${ids}`
    : `${unused}, and whether it was handed over cannot be known. ` +
        `If it was not, delete it with "keyturn secrets delete" and apply again: ${ids}`
}

/**
 * Looks at all targets before anything is changed.
 *
 * @returns Where the server is.
 * @throws {ConfigurationMistakes} if one has something already, or cannot be used.
 */
export async function prepareHandOver(io: Io, api: Api, due: readonly SecretRequest[]): Promise<Endpoints> {
  const mistakes: FileMistake[] = []
  for (const { into, place } of due) {
    const refusal = await secretTarget(io, into)
      .look()
      .then((state) =>
        state === 'taken' ? 'there is something already, which is not replaced: remove it to get a new secret' : '',
      )
      .catch(describeFailure)
    if (refusal !== '') mistakes.push({ ...place, field: 'generateSecret.into', message: `${into}: ${refusal}` })
  }
  if (mistakes.length > 0) throw new ConfigurationMistakes(mistakes)
  return due.length === 0 ? { base_url: '', token_endpoint: '' } : await endpointsOf(api.target)
}

export type SecretState = 'handed over' | 'not known whether handed over' | 'not handed over'

export type HandedOver = Pick<SecretRequest, 'project' | 'name' | 'into'> & {
  readonly clientId: string
  readonly secretId: string
}

/** Hands all secrets over. One that fails does not keep back the others: `failures` has why. @param signal Keeps back those that are left. */
export async function handOverSecrets(
  io: Io,
  api: Api,
  {
    due,
    endpoints,
    users,
    states,
    signal,
  }: {
    readonly due: readonly SecretRequest[]
    readonly endpoints: Endpoints
    readonly users: readonly ConfiguredUser[]
    readonly states: Map<string, SecretState>
    readonly signal: AbortSignal
  },
): Promise<{ readonly handedOver: readonly HandedOver[]; readonly failures: readonly string[] }> {
  const handedOver: HandedOver[] = []
  const failures: string[] = []
  for (const request of due) {
    const { project, name, into } = request
    const user = userOf(request)
    signal.throwIfAborted()
    states.set(user, 'not known whether handed over')
    try {
      const asked = { userId: idOf(request, users) }
      const { clientId, secret } = await generateInto(secretTarget(io, into), api, { request: asked, endpoints })
      states.set(user, 'handed over')
      handedOver.push({ project, name, into, clientId, secretId: secret?.secretId ?? '' })
    } catch (error) {
      states.set(user, 'not handed over')
      failures.push(`no client secret of ${user} was handed over into ${into}: ${describeFailure(error)}`)
    }
  }
  return { handedOver, failures }
}

export function userOf({ project, name }: Pick<SecretRequest, 'project' | 'name'>): string {
  return `${name}@${project}`
}

function idOf({ project, name }: SecretRequest, users: readonly ConfiguredUser[]): string {
  return users.find((user) => user.project === project && user.name === name)?.userId ?? ''
}
