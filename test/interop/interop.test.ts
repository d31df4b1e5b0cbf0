/**
 * Verifiers of other projects, started before the first rotation, and kept running while keys of every kind take turns.
 *
 * Each is expected to do what `verifiers.ts` says, which is also what the page says. `npm run interop -- --write` writes what
 * was measured into the page.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { removeFolder, startKeyturn } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'
import { runScenario, SETTINGS } from './scenario.ts'
import { type Prepared, prepare, programPath, type ToolchainName } from './toolchains.ts'
import { expectedVerdict, KEYS, VERIFIERS, type Verifier } from './verifiers.ts'

/** The last key signs until the end. */
const PERIODS = KEYS.flatMap((key) =>
  (['active', 'inactive'] as const)
    .filter((state) => state === 'active' || key !== KEYS.at(-1))
    .map((state) => ({ key, state })),
)

const toolchains = [...new Set(VERIFIERS.map(({ toolchain }) => toolchain))]
// Beside one another: most of their time they wait for packages.
const prepared = new Map<ToolchainName, Prepared>(
  await Promise.all(toolchains.map(async (toolchain) => [toolchain, await prepare(toolchain)] as const)),
)
const obstacleTo = ({ toolchain }: Pick<Verifier, 'toolchain'>) => {
  const state = prepared.get(toolchain)
  return state?.kind === 'missing' ? `${toolchain}: ${state.obstacle}` : undefined
}
const present = VERIFIERS.filter((verifier) => obstacleTo(verifier) === undefined)

const server = await startKeyturn({ env: SETTINGS })
const outcomes = await runScenario(server, {
  verifiers: present,
  folderOf: ({ toolchain }) => {
    const state = prepared.get(toolchain)
    return state?.kind === 'ready' ? state.folder : ''
  },
}).finally(async () => {
  await server.stop()
  await removeFolder(server.dataDir)
})

if (process.env.INTEROP_RESULTS !== undefined) {
  const results = present.map((verifier) => ({
    name: verifier.name,
    version: versionOf(verifier),
    ...outcomes.get(verifier.name),
  }))
  writeFileSync(process.env.INTEROP_RESULTS, JSON.stringify(results, undefined, 2))
}

/** What is pinned, or what the system says. */
function versionOf({ version }: Verifier): string {
  if (typeof version === 'string') return version
  const { stdout, stderr } = spawnSync(programPath(version.program) ?? '', version.args, { encoding: 'utf8' })
  // nginx says it on standard error.
  return /\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? ''
}

it('has the packages of Node.js, without which hardly anything would be tested', () => {
  expect(obstacleTo({ toolchain: 'node' })).toBeUndefined()
})

for (const verifier of VERIFIERS) {
  describeUnless(obstacleTo(verifier))(verifier.name, () => {
    const outcome = () => outcomes.get(verifier.name)!

    it('runs from before the first rotation until after the last, and answers every request', () => {
      expect(outcome().failures).toEqual([])
      expect(outcome().ranThrough).toBe(true)
    })

    it('refuses tokens that are forged, for others, or expired', () => {
      expect(outcome().wronglyAccepted).toEqual([])
    })

    describe.each(PERIODS)('while the key $key was $state', ({ key, state }) => {
      const expected = expectedVerdict(verifier, key, state)
      const tally = () => outcome().tallies[key][state]

      if (expected === 'verified') {
        it('has verified every token of it', () => {
          const { verified, ...refusals } = tally()
          expect(refusals).toEqual({ refused: 0 })
          expect(verified).toBeGreaterThan(0)
        })
      }
      if (expected === 'refused') {
        it('has refused every token of it', () => {
          expect(tally().verified).toBe(0)
          expect(tally().refused).toBeGreaterThan(0)
        })
      }
    })

    it(`${verifier.learnsNewKeys === false ? 'never accepts' : 'accepts'} a key that signs at once`, () => {
      expect(outcome().newKeyAcceptedAfter).toEqual(verifier.learnsNewKeys === false ? 'not in 4' : expect.any(Number))
    })

    if ('forgetsRevokedKeys' in verifier && verifier.forgetsRevokedKeys === undefined) return
    const forgets = verifier.forgetsRevokedKeys !== false
    it(`${forgets ? 'refuses a revoked key' : 'goes on trusting a revoked key'} while no other token comes`, () => {
      expect(outcome().revokedKeyRefusedAfter).toEqual(forgets ? expect.any(Number) : 'not in 4')
    })
  })
}
