/**
 * Follows the instance: asks for it each second while the page is visible. Views load again when its version changes. Its time is that of the
 * page, so that what is about to happen is shown when it does, whatever the clock of this machine says.
 */
import { computed, signal } from '@preact/signals'
import type { Instance } from '../../gen/iam/instance/v2/instance_service_pb.js'
import { IN_BACKGROUND, instanceService } from '../api/clients.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { millisecondsOf } from '../format/text.ts'
import { may, session } from '../session/session.ts'

/** How far the instance is ahead of the clock of this machine, in milliseconds. */
let offset = 0

/** A smaller difference is none, in milliseconds: a response takes a while. */
const NOTICED = 1000

/** Now, in milliseconds. Changes once a second while the page is visible. */
export const now = signal(Date.now())

/** The instance as it was last. */
export const instance = signal<Instance | undefined>(undefined)

/** When it was last heard of, in milliseconds of this machine's clock. */
export const heardAt = signal(0)

/** Why it cannot be asked at the moment. */
export const outage = signal<Failure | undefined>(undefined)

/** The version of the instance. Every change raises it. */
export const version = computed(() => instance.value?.version)

/** The times by which verifiers and replicas go, in milliseconds. Undefined until the instance has answered. */
export const lifetimes = computed(() => {
  const settings = instance.value?.settings
  if (settings === undefined) return undefined
  const lengthIn = (variable: string) => Number(settings.find(({ name }) => name === variable)?.value ?? 0) * 1000
  return {
    keySetCache: lengthIn('KEYTURN_JWKS_MAX_AGE'),
    token: lengthIn('KEYTURN_TOKEN_LIFETIME'),
    staleness: lengthIn('KEYTURN_MAX_STALENESS'),
  }
})

/** How long an access token works that has no lifetime of its own, in milliseconds. Every user is told, also one who may not see settings. */
export const tokenLifetime = computed(() =>
  session.value.kind === 'signed-in' ? session.value.user.tokenLifetimeSeconds * 1000 : 0,
)

const INTERVAL = 1000

/** Longer than a request takes if the server answers, in milliseconds. */
const TIMEOUT = 5000

/** Whether the signed-in user may ask for it. Otherwise views load again from time to time. */
export function mayFollow(): boolean {
  return may('iam.instance.read')
}

/** Begins to follow it. @returns Stops that. */
export function followInstance(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isAsking = false
  let isStopped = false
  const next = async () => {
    if (isAsking || isStopped || document.hidden) return
    clearTimeout(timer)
    isAsking = true
    await ask()
    now.value = Date.now() + offset
    isAsking = false
    timer = setTimeout(next, INTERVAL)
  }
  document.addEventListener('visibilitychange', next)
  void next()
  return () => {
    isStopped = true
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', next)
  }
}

async function ask(): Promise<void> {
  if (!mayFollow()) return
  try {
    const { instance: latest } = await instanceService.getInstance({}, { ...IN_BACKGROUND, timeoutMs: TIMEOUT })
    const ahead = (millisecondsOf(latest?.currentDate) ?? Date.now()) - Date.now()
    offset = Math.abs(ahead) < NOTICED ? 0 : ahead
    instance.value = latest
    heardAt.value = Date.now()
    outage.value = undefined
  } catch (error) {
    outage.value = failureOf(error)
  }
}
