/**
 * What is true of ten years of rotation, whatever happens in them.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { configOf, isSameConfig, type WebKeyConfig } from '../../../../src/domain/keys/key-algorithm.ts'
import { activeKey, type KeyRing } from '../../../../src/domain/keys/key-ring.ts'
import { assertPolicy, timesOf } from '../../../../src/domain/keys/rotation-policy.ts'
import { after, earliest } from '../../../../src/domain/time.ts'
import { type Change, DAY, END, LAG, type Life, live, lives, START } from './rotation-simulation.ts'

/** How many changes there were until a moment, by a binary search: those of ten years are in order, and many. */
function countUntil(history: readonly Change[], moment: Date): number {
  let [from, to] = [0, history.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (history[middle]!.at <= moment) from = middle + 1
    else to = middle
  }
  return from
}

/** The ring as it was at a moment; before the beginning, as it was then. */
function ringAt(history: readonly Change[], moment: Date): KeyRing {
  return history[Math.max(countUntil(history, moment) - 1, 0)]?.ring ?? []
}

const has = (ring: KeyRing, keyId: string) => ring.some((key) => key.keyId === keyId)
const secondsBetween = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000

/** The changes by which another key signs, and which key signed before. The first key is none of them. */
function changesOfSigner(history: readonly Change[]) {
  return history.flatMap(({ at, ring, by }, index) => {
    const [signed, signs] = [activeKey(history[index - 1]?.ring ?? []), activeKey(ring)]
    return signed === undefined || signs === undefined || signed.keyId === signs.keyId
      ? []
      : [{ index, at, by, signed, signs }]
  })
}

function newKeys(before: KeyRing, ring: KeyRing): KeyRing {
  return ring.filter(({ keyId }) => !has(before, keyId))
}

function isOfKind({ algorithm, publicJwk }: KeyRing[number], config: WebKeyConfig): boolean {
  return isSameConfig(configOf(algorithm, publicJwk), config)
}

/** Whether a key waits to sign that is of the same kind as another one. */
function isStandbyLike(key: KeyRing[number], { algorithm, publicJwk }: KeyRing[number]): boolean {
  return key.state === 'initial' && isOfKind(key, configOf(algorithm, publicJwk))
}

/** The same life without failures and without people. Replicas that are behind are part of it. */
function undisturbed(life: Life): Life {
  return { ...life, delays: [0], interventions: [], hangs: [0], publications: [0] }
}

/** The same life without requests for a rotation out of turn. */
function withoutRequests(life: Life): Life {
  return { ...life, interventions: life.interventions.filter(({ what }) => what !== 'rotate') }
}

/** How old a copy of the ring may be that a verifier uses: the cache time, and what the replica it came from lagged. */
function oldestCopy({ policy, limits }: Life): number {
  const { jwksMaxAgeSeconds: cached, maxStalenessSeconds } = limits
  // A replica that is cut off publishes what it knows for that long. A policy may be in more of a hurry than that.
  return Math.max(cached + LAG, Math.min(policy.publishAheadSeconds, cached + maxStalenessSeconds))
}

/** A life with its history: the same for every check. */
type Lived = readonly [life: Life, history: readonly Change[]]

/** Describes what is true of so many lives. */
export function describeTenYears(runs: number): void {
  describe('ten years of rotation', () => {
    const seed = Number(process.env.KEYTURN_TEST_SEED ?? Date.now() % 2 ** 31)
    process.stdout.write(`ten years of rotation: KEYTURN_TEST_SEED=${seed}\n`)
    const histories = new Map<string, readonly Change[]>()
    const historyOf = (life: Life): readonly Change[] => {
      const name = JSON.stringify(life)
      const history = histories.get(name) ?? live(life)
      histories.set(name, history)
      return history
    }
    // The seed makes the same lives for every check.
    const everyLife = (check: (...lived: Lived) => void, changed: (life: Life) => Life = (life) => life) =>
      fc.assert(
        fc.property(lives.map(changed), (life) => {
          assertPolicy(life.policy, life.limits)
          check(life, historyOf(life))
        }),
        { seed, numRuns: runs },
      )

    it('never has two active keys and never none [Spec §3]', () => {
      everyLife((_, history) => {
        expect(history.filter(({ ring }) => ring.filter(({ state }) => state === 'active').length !== 1)).toEqual([])
      })
    })

    it('never signs with a key that the oldest copy of the key set in use does not have [Spec §8]', () => {
      everyLife((life, history) => {
        // After a leak a key that is not known everywhere is better than one that an attacker knows. Who goes back to such a key
        // soon after does what the guard of initial keys does not prevent.
        const replacements = new Set<string>()
        const early = changesOfSigner(history).filter(({ at, by, signs }) => {
          if (by === 'revoke') replacements.add(signs.keyId)
          if (by === 'revoke' || (by === 'roll back' && replacements.has(signs.keyId))) return false
          const age = by === 'policy' || by === 'rotate' ? oldestCopy(life) : life.limits.jwksMaxAgeSeconds + LAG
          return !has(ringAt(history, after(at, -age)), signs.keyId)
        })
        expect(early).toEqual([])
      })
    })

    it('publishes a key for as long as a token lives that it signed, unless it was revoked [Spec §4.3]', () => {
      everyLife(({ limits }, history) => {
        const missing = changesOfSigner(history).flatMap(({ index, at, by, signed }) => {
          if (by === 'revoke') return []
          // The last replica to hear of the change signs on until it does, or may not go on without the database any longer;
          // its token lives from then on.
          const signsOn = Math.max(LAG, limits.maxStalenessSeconds)
          const dead = earliest(after(at, signsOn + limits.tokenLifetimeSeconds), END)
          const without = history
            .slice(index + 1, countUntil(history, dead))
            .filter(({ ring }) => !has(ring, signed.keyId))
          return without.some((change) => change.by === 'revoke') ? [] : without
        })
        expect(missing).toEqual([])
      })
    })

    it('rotates on time, whatever else happens: no later than failures and a change of the kind of key make it', () => {
      everyLife((life, history) => {
        const { interval, known } = timesOf(life.policy, life.limits)
        const delay = Math.max(...life.delays) + Math.max(...life.hangs) + Math.max(...life.publications)
        // Each step may be late and holds up the next one. A kind that is changed at the last moment has to become known, and so has the
        // next one, if it is changed again meanwhile.
        const changes = life.interventions.filter(({ what }) => what === 'change kind').length
        const longest = interval + Math.max(1, changes) * known + 4 * delay
        const late = changesOfSigner(history).filter(
          ({ at, by, signed }) => by === 'policy' && secondsBetween(signed.activatedAt, at) > longest,
        )
        expect(late).toEqual([])
        const last = activeKey(history.at(-1)?.ring ?? [])
        expect(secondsBetween(last?.activatedAt ?? START, END)).toBeLessThanOrEqual(longest)
      })
    })

    it('rotates to the second when nothing fails and no administrator interferes', () => {
      everyLife((life, history) => {
        const interval = life.policy.rotationIntervalSeconds
        const activations = [START, ...changesOfSigner(history).map(({ at }) => at)]
        expect(activations.length).toBe(Math.floor(3650 / (interval / DAY) + 1 - 1e-9))
        expect(activations.filter((at, index) => secondsBetween(START, at) !== index * interval)).toEqual([])
      }, undisturbed)
    })

    it('does nothing twice when several replicas want the same, or want what another has just made needless', () => {
      everyLife(({ policy }, history) => {
        const twice = history.filter(({ ring, by }, index) => {
          const before = history[index - 1]?.ring ?? []
          return by === 'policy' && newKeys(before, ring).some((key) => before.some((old) => isStandbyLike(old, key)))
        })
        expect(twice).toEqual([])
        const early = changesOfSigner(history).filter(
          ({ at, by, signed }) =>
            by === 'policy' && secondsBetween(signed.activatedAt, at) < policy.rotationIntervalSeconds,
        )
        expect(early).toEqual([])
      }, withoutRequests)
    })

    it('never changes the kind of key by itself, whatever keys people make by hand', () => {
      everyLife(
        ({ policy }, history) => {
          const others = history.filter(({ ring, by }, index) => {
            const before = history[index - 1]?.ring ?? []
            const promoted = ring.filter(({ keyId, state }) => state === 'active' && activeKey(before)?.keyId !== keyId)
            return (
              by === 'policy' && [...newKeys(before, ring), ...promoted].some((key) => !isOfKind(key, policy.config))
            )
          })
          expect(others).toEqual([])
        },
        (life) => ({ ...life, interventions: life.interventions.filter(({ what }) => what !== 'change kind') }),
      )
    })

    it('always has a standby that verifiers know, if one is wanted, a while after each change', () => {
      everyLife(
        (life, history) => {
          const { ahead } = timesOf(life.policy, life.limits)
          const isInitial = ({ state }: KeyRing[number]) => state === 'initial'
          const without = history.filter(({ at, ring, by }) => {
            if (by !== 'policy' || ring.some(isInitial) || after(at, 3600) >= END) return false
            return !ringAt(history, after(at, Math.min(ahead, 3600))).some(isInitial)
          })
          expect(without).toEqual([])
        },
        (life) => undisturbed({ ...life, policy: { ...life.policy, keepStandby: true } }),
      )
    })

    it('destroys private keys when they cannot be wanted any more, and leaves no key behind', () => {
      everyLife((life, history) => {
        const { retention, rollback } = timesOf(life.policy, life.limits)
        const wrong = history.filter(({ at, ring }) =>
          ring.some((key) => {
            if (!isOfKind(key, life.policy.config)) return true
            if (key.state !== 'inactive') return false
            const idle = secondsBetween(key.deactivatedAt, at)
            return idle > retention || (idle > rollback && rollback < retention && key.hasPrivateKey)
          }),
        )
        expect(wrong).toEqual([])
      }, undisturbed)
    })
  })
}
