/**
 * Which client secrets an apply hands over: once, and again if that was interrupted.
 *
 * Nothing but the secrets of the user and the target themselves says what has happened, so that it holds wherever the command runs. A live
 * secret that was used has arrived. One that was never used has arrived if the target has something. No live secret: none was handed over.
 */
import { createClient, type Transport } from '@connectrpc/connect'
import type { Plan } from '../../../../gen/iam/config/v2/plan_pb.js'
import type { ClientSecret } from '../../../../gen/iam/user/v2/service_user_pb.js'
import { ServiceUserService } from '../../../../gen/iam/user/v2/service_user_service_pb.js'
import type { SecretRequest } from '../../../configuration-files/configuration.ts'
import { describeFailure } from '../../failure.ts'
import type { Io } from '../../io.ts'
import { everyItemOf } from '../../pages.ts'
import { isPast } from '../../table.ts'
import { secretTarget, type TargetState } from './secret-target.ts'

/** A secret that is handed over by an apply. */
export interface DueSecret {
  readonly request: SecretRequest
}

/** What an apply would do, and what a person should know. */
export interface PlannedSecrets {
  readonly due: readonly DueSecret[]
  /** Requests of the others, whose secrets have arrived or may have. */
  readonly settled: readonly SecretRequest[]
  readonly warnings: readonly string[]
}

/** What is planned for one user. */
type Decision = 'due' | 'done' | 'undecided'

/** Asks the server for the secrets of the users that shall have one. */
export async function planSecrets(
  io: Io,
  api: Transport,
  { requests, plan }: { readonly requests: readonly SecretRequest[]; readonly plan: Plan },
): Promise<PlannedSecrets> {
  const users = createClient(ServiceUserService, api)
  const ids = new Map(plan.serviceUsers.map(({ project, name, userId }) => [`${name}@${project}`, userId]))
  const due: DueSecret[] = []
  const settled: SecretRequest[] = []
  const warnings: string[] = []
  for (const request of requests) {
    const user = `${request.name}@${request.project}`
    const userId = ids.get(user) ?? ''
    const secrets =
      userId === ''
        ? []
        : await everyItemOf(
            (page) => users.listClientSecrets({ userId, ...page }),
            (response) => response.secrets,
          )
    const live = secrets.filter(isLive)
    const target = isUnused(live) ? await stateOf(io, request, warnings) : 'unknown'
    const decision = decide(live, target)
    if (decision === 'due') due.push({ request })
    else settled.push(request)
    if (decision !== 'done' && live.length > 0) warnings.push(unusedWarning(user, live, decision))
  }
  return { due, settled, warnings }
}

function decide(live: readonly ClientSecret[], target: TargetState): Decision {
  if (live.length === 0) return 'due'
  if (!isUnused(live) || target === 'taken') return 'done'
  return target === 'empty' ? 'due' : 'undecided'
}

/** Whether there are secrets, and none has arrived anywhere for certain. */
function isUnused(live: readonly ClientSecret[]): boolean {
  return live.length > 0 && live.every(({ lastUseDate }) => lastUseDate === undefined)
}

function isLive({ deactivationDate, expirationDate }: ClientSecret): boolean {
  return deactivationDate === undefined && (expirationDate === undefined || !isPast(expirationDate))
}

async function stateOf(io: Io, { into }: SecretRequest, warnings: string[]): Promise<TargetState> {
  try {
    return await secretTarget(io, into).look()
  } catch (error) {
    warnings.push(`cannot look at ${into}: ${describeFailure(error)}`)
    return 'unknown'
  }
}

function unusedWarning(user: string, live: readonly ClientSecret[], decision: 'due' | 'undecided'): string {
  const ids = live.map(({ secretId }) => secretId).join(', ')
  return decision === 'due'
    ? `${user} has a client secret that was never used and is not at its target, as an interrupted apply leaves it. ` +
        `It gets another one; delete this one with "keyturn secrets delete": ${ids}`
    : `${user} has a client secret that was never used, and whether it was handed over cannot be known. ` +
        `If it was not, delete it with "keyturn secrets delete" and apply again: ${ids}`
}
