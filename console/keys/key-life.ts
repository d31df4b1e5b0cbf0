/**
 * The life of each key: what has happened, by its dates, and what will, by the schedule of the rotation.
 */
import { type RotationPolicy, type RotationStep, RotationStepKind } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { neededAfterSeconds } from '../../src/domain/keys/rotation-policy.ts'
import { millisecondsOf } from '../format/text.ts'

/** How long copies of the key set and tokens live, in milliseconds. */
export interface Lifetimes {
  readonly keySetCache: number
  readonly token: number
  /** How long a replica goes on without the database. */
  readonly staleness: number
}

/** The life of a key. All moments are in milliseconds; one that is undefined is not known to come. */
export interface KeyLife {
  /** Unique among lives. */
  readonly id: string
  /** Undefined: it is not created yet, or was deleted. */
  readonly key?: WebKey
  readonly isDeleted: boolean
  readonly publishedAt: number
  /** From then on, every verifier that respects the cache time of the key set knows the key. */
  readonly knownAt: number
  readonly signsAt?: number | undefined
  readonly stopsAt?: number | undefined
  /** When the last token that it may have signed expires. */
  readonly neededUntil?: number | undefined
  readonly privateKeyGoneAt?: number | undefined
  /** When it leaves the key set. */
  readonly goneAt?: number | undefined
}

/** The keys as they are shown now. */
export interface KeyView {
  readonly lives: readonly KeyLife[]
  /** With those that were deleted, if they are shown. */
  readonly shown: readonly KeyLife[]
  /** The life of the key that signs now. */
  readonly signer: KeyLife | undefined
  readonly published: readonly WebKey[]
  readonly steps: readonly RotationStep[]
  readonly policy: RotationPolicy | undefined
  readonly lifetimes: Lifetimes
}

type Draft = { -readonly [Name in keyof KeyLife]: KeyLife[Name] }

/** A life of which nothing more is known than its beginning. */
export function newLife(id: string, publishedAt: number): Draft {
  return { id, isDeleted: false, publishedAt, knownAt: publishedAt }
}

/** So many keys are shown that are not created yet. */
const MOST_PLANNED = 1

/**
 * The lives of the keys, and of those that the rotation creates next, in the order of their publication.
 *
 * @param steps In their order. Those of keys that are not created yet have no key id: such keys are activated, and go, in the order
 *   of their creation.
 * @param now A step that is due is shown as due now.
 */
export function livesOf(
  keys: readonly WebKey[],
  steps: readonly RotationStep[],
  { lifetimes, now }: { readonly lifetimes: Lifetimes; readonly now: number },
): readonly KeyLife[] {
  const lives: Draft[] = keys.map((key) => lifeOf(key, { lifetimes, now }))
  let signer = lives.find(({ key }) => key?.state === WebKeyState.ACTIVE)
  const find = (keyId: string, isNext: (life: Draft) => boolean) =>
    lives.find((life) => (keyId === '' ? life.key === undefined && isNext(life) : life.id === keyId))
  for (const { kind, keyId, date } of steps) {
    const at = Math.max(millisecondsOf(date) ?? now, now)
    switch (kind) {
      case RotationStepKind.CREATE:
        lives.push({ ...newLife(`planned ${lives.length}`, at), knownAt: at + lifetimes.keySetCache })
        break
      case RotationStepKind.ACTIVATE: {
        const next = find(keyId, ({ signsAt }) => signsAt === undefined)
        if (signer !== undefined) Object.assign(signer, { stopsAt: at, neededUntil: neededUntil(at, lifetimes) })
        if (next !== undefined) next.signsAt = at
        signer = next
        break
      }
      case RotationStepKind.DESTROY_PRIVATE_KEY:
      case RotationStepKind.DELETE: {
        const end = kind === RotationStepKind.DELETE ? 'goneAt' : 'privateKeyGoneAt'
        const life = find(keyId, ({ stopsAt, [end]: endsAt }) => stopsAt !== undefined && endsAt === undefined)
        if (life !== undefined) life[end] = at
        break
      }
      case RotationStepKind.UNSPECIFIED:
        break
    }
  }
  const planned = lives.filter(({ key }) => key === undefined).slice(0, MOST_PLANNED)
  return [...lives.filter(({ key }) => key !== undefined), ...planned].sort((a, b) => a.publishedAt - b.publishedAt)
}

/** When the last token expires that a key may have signed which stops signing at a moment. */
export function neededUntil(stopsAt: number, { token, staleness }: Lifetimes): number {
  const limits = { tokenLifetimeSeconds: token / 1000, maxStalenessSeconds: staleness / 1000 }
  return stopsAt + neededAfterSeconds(limits) * 1000
}

/** Whether an initial key waits for the confirmation that it is published, from which the cache time counts. */
export function isUnconfirmed({ key }: Pick<KeyLife, 'key'>): boolean {
  return key?.state === WebKeyState.INITIAL && key.publicationDate === undefined
}

function lifeOf(key: WebKey, { lifetimes, now }: { readonly lifetimes: Lifetimes; readonly now: number }): Draft {
  const publishedAt = millisecondsOf(key.publicationDate ?? key.creationDate) ?? 0
  const stopsAt = millisecondsOf(key.deactivationDate)
  return {
    ...newLife(key.keyId, publishedAt),
    key,
    knownAt: (isUnconfirmed({ key }) ? now : publishedAt) + lifetimes.keySetCache,
    signsAt: millisecondsOf(key.activationDate),
    stopsAt,
    neededUntil: stopsAt === undefined ? undefined : neededUntil(stopsAt, lifetimes),
    goneAt: millisecondsOf(key.revocationDate),
  }
}

/** What a key does in a phase. */
export type PhaseKind = 'learning' | 'published' | 'signing' | 'needed' | 'kept'

/** A phase. */
export interface Phase {
  readonly kind: PhaseKind
  readonly from: number
  /** Undefined: it has no known end. */
  readonly to: number | undefined
}

/** The phases of a life, in order, without empty ones. */
export function phasesOf(life: KeyLife): readonly Phase[] {
  const { publishedAt, knownAt, signsAt, stopsAt, neededUntil, goneAt } = life
  const phases: Phase[] = [
    { kind: 'learning', from: publishedAt, to: least(knownAt, signsAt, goneAt) },
    { kind: 'published', from: knownAt, to: least(signsAt, goneAt) },
  ]
  if (signsAt !== undefined) phases.push({ kind: 'signing', from: signsAt, to: least(stopsAt, goneAt) })
  if (stopsAt !== undefined) {
    if (neededUntil !== undefined) phases.push({ kind: 'needed', from: stopsAt, to: least(neededUntil, goneAt) })
    phases.push({ kind: 'kept', from: neededUntil ?? stopsAt, to: goneAt })
  }
  return phases.filter(({ from, to }) => to === undefined || to > from)
}

function least(...moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((at) => at !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
