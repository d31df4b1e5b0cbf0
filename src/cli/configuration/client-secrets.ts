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
import type { FileConfiguration, SecretRequest } from '../../configuration-files/configuration.ts'
import { ConfigurationMistakes } from '../../configuration-files/mistakes.ts'
import type { Api } from '../api.ts'
import { describeFailure } from '../failure.ts'
import type { Io } from '../io.ts'
import { type Endpoints, endpointsOf, generateInto, secretTarget } from '../secret-targets.ts'
import { isPast } from '../times.ts'

const STATES = ['handed over', 'not known whether handed over', 'not handed over'] as const

export type HandedOver = Pick<SecretRequest, 'project' | 'name' | 'into'> & {
  readonly clientId: string
  readonly secretId: string
}

export class SecretHandOver {
  readonly due: SecretRequest[] = []
  /** What a person should know. */
  readonly warnings: string[] = []
  readonly handedOver: HandedOver[] = []
  readonly failures: string[] = []
  readonly #states = new Map<string, (typeof STATES)[number]>()
  readonly #io: Io
  readonly #api: Api
  #endpoints: Endpoints = { base_url: '', token_endpoint: '' }

  constructor(io: Io, api: Api) {
    this.#io = io
    this.#api = api
  }

  /** Asks the server for the secrets of the users that shall have one. */
  async plan(requests: readonly SecretRequest[], users: readonly ConfiguredUser[]): Promise<void> {
    const { listClientSecrets } = ServiceUserService.method
    for (const request of requests) {
      const userId = idOf(request, users)
      const all = userId === '' ? [] : await this.#api.all(listClientSecrets, 'secrets', { userId })
      const live = all.filter(isLive)
      const state = await this.#stateOf(request, live)
      if (state === 'empty') this.due.push(request)
      if (live.length > 0 && state !== 'taken') this.warnings.push(unusedWarning(request, live, state))
    }
  }

  async #stateOf({ into }: SecretRequest, live: readonly ClientSecret[]): Promise<'empty' | 'taken' | 'unknown'> {
    if (live.length === 0) return 'empty'
    if (live.some(({ lastUseDate }) => lastUseDate !== undefined)) return 'taken'
    return await secretTarget(this.#io, into)
      .look()
      .catch((error: unknown) => {
        this.warnings.push(`cannot look at ${into}: ${describeFailure(error)}`)
        return 'unknown' as const
      })
  }

  /** Before anything is changed. @throws {ConfigurationMistakes} if a target has something already, or cannot be used. */
  async prepare({ located }: Pick<FileConfiguration, 'located'>): Promise<void> {
    const mistakes: { readonly path: string; readonly message: string }[] = []
    for (const { into, path } of this.due) {
      const refusal = await secretTarget(this.#io, into)
        .look()
        .then((state) =>
          state === 'taken' ? 'there is something already, which is not replaced: remove it to get a new secret' : '',
        )
        .catch(describeFailure)
      if (refusal !== '') mistakes.push({ path, message: `${into}: ${refusal}` })
    }
    if (mistakes.length > 0) throw new ConfigurationMistakes(located(mistakes))
    if (this.due.length > 0) this.#endpoints = await endpointsOf(this.#api.target)
  }

  /** Hands all secrets over, one after the other. One that fails does not keep back the others. @param signal Keeps back those that are left. */
  async run(users: readonly ConfiguredUser[], signal: AbortSignal): Promise<void> {
    for (const request of this.due) this.#states.set(userOf(request), 'not handed over')
    for (const request of this.due) {
      const { project, name, into } = request
      const user = userOf(request)
      signal.throwIfAborted()
      this.#states.set(user, 'not known whether handed over')
      try {
        const asked = { request: { userId: idOf(request, users) }, endpoints: this.#endpoints }
        const { clientId, secret } = await generateInto(secretTarget(this.#io, into), this.#api, asked)
        this.#states.set(user, 'handed over')
        this.handedOver.push({ project, name, into, clientId, secretId: secret?.secretId ?? '' })
      } catch (error) {
        this.#states.set(user, 'not handed over')
        this.failures.push(`no client secret of ${user} was handed over into ${into}: ${describeFailure(error)}`)
      }
    }
  }

  /** What is known of them when that is interrupted. Empty: there are none. */
  describe(): string {
    const users = Map.groupBy(this.#states.keys(), (user) => this.#states.get(user))
    const lists = STATES.flatMap((state) => {
      const those = users.get(state)
      return those === undefined ? [] : [`${state}: ${those.join(', ')}`]
    })
    if (lists.length === 0) return ''
    const isDone = users.get('handed over')?.length === this.#states.size
    return `; client secrets ${lists.join('; ')}${isDone ? '' : '. Apply it again for those that are missing'}`
  }
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

export function userOf({ project, name }: Pick<SecretRequest, 'project' | 'name'>): string {
  return `${name}@${project}`
}

function idOf({ project, name }: SecretRequest, users: readonly ConfiguredUser[]): string {
  return users.find((user) => user.project === project && user.name === name)?.userId ?? ''
}
