/**
 * What there is to say about a key at the moment, and why it may or may not go.
 */
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { formatDistance, formatMoment, shortened } from '../format/text.ts'
import { isUnconfirmed, type KeyLife } from './key-life.ts'

/** What the key is called. */
export function nameOf({ id, key, isDeleted }: KeyLife): string {
  return key === undefined && !isDeleted ? 'Next key' : shortened(id)
}

/** What the key does now, in a few words. */
export function statusOf(life: KeyLife, now: number): string {
  const { key, isDeleted, publishedAt, knownAt, signsAt, neededUntil, goneAt } = life
  const say = (at: number) => formatMoment(at, now)
  if (isDeleted) return `deleted ${formatDistance(goneAt ?? now, now)}`
  switch (key?.state) {
    case WebKeyState.INITIAL:
      if (isUnconfirmed(life)) return 'its publication is not confirmed yet: verifiers may not know it'
      if (now < knownAt) return `verifiers may not know it until ${say(knownAt)}`
      return signsAt === undefined
        ? 'verifiers know it: signs when it is activated'
        : 'ready to sign: verifiers know it'
    case WebKeyState.ACTIVE:
      return `signs since ${say(signsAt ?? publishedAt)}`
    case WebKeyState.INACTIVE:
      return isNeeded(life, now)
        ? `tokens until ${say(neededUntil ?? now)} still need it`
        : 'no token needs it any more'
    case WebKeyState.REVOKED:
      return 'revoked: tokens that it signed are refused'
    default:
      return `to be created ${formatDistance(publishedAt, now)}`
  }
}

/** What happens to the key next, by itself. Empty: nothing. */
export function nextOf({ key, isDeleted, signsAt, stopsAt, privateKeyGoneAt, goneAt }: KeyLife, now: number): string {
  if (isDeleted) return ''
  const say = (what: string, at: number) => `${what} ${formatDistance(at, now)}`
  switch (key?.state) {
    case WebKeyState.INITIAL:
    case undefined:
      return signsAt === undefined ? '' : say('signs', signsAt)
    case WebKeyState.ACTIVE:
      return stopsAt === undefined ? '' : say('replaced', stopsAt)
    case WebKeyState.INACTIVE:
      if (privateKeyGoneAt !== undefined) return say('private key destroyed', privateKeyGoneAt)
      return goneAt === undefined ? '' : say('deleted', goneAt)
    default:
      return ''
  }
}

/** Whether tokens that the key has signed may still be in use, although it signs no more. */
export function isNeeded({ key, neededUntil }: KeyLife, now: number): boolean {
  return key?.state === WebKeyState.INACTIVE && neededUntil !== undefined && now < neededUntil
}
