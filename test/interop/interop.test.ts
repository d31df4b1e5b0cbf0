/**
 * Verifiers of other projects, started before the first rotation, and kept running while keys of every kind take turns.
 */
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { removeFolder, startKeyturn } from '../support/keyturn.ts'
import { describeUnless } from '../support/unless.ts'
import { runScenario, SETTINGS } from './scenario.ts'
import { type Prepared, prepare, type ToolchainName } from './toolchains.ts'
import { KEYS, VERIFIERS } from './verifiers.ts'

/** The last key signs until the end. */
const PERIODS = KEYS.flatMap((key) =>
  (['active', 'inactive'] as const)
    .filter((state) => state === 'active' || key !== KEYS.at(-1))
    .map((state) => [key, state] as const),
)

const prepared = new Map<ToolchainName, Prepared>()
for (const { toolchain } of VERIFIERS) {
  if (!prepared.has(toolchain)) prepared.set(toolchain, prepare(toolchain))
}
const obstacleTo = (toolchain: ToolchainName) => {
  const state = prepared.get(toolchain)
  return state?.kind === 'missing' ? state.obstacle : undefined
}

const server = await startKeyturn({ env: SETTINGS })
const outcomes = await runScenario(server, {
  verifiers: VERIFIERS.filter(({ toolchain }) => obstacleTo(toolchain) === undefined),
  folderOf: ({ toolchain }) => {
    const state = prepared.get(toolchain)
    return state?.kind === 'ready' ? state.folder : ''
  },
}).finally(async () => {
  await server.stop()
  await removeFolder(server.dataDir)
})
if (process.env.INTEROP_RESULTS !== undefined) {
  writeFileSync(process.env.INTEROP_RESULTS, JSON.stringify(Object.fromEntries(outcomes), undefined, 2))
}

it('has the packages of Node.js, without which nothing would be tested', () => {
  expect(obstacleTo('node')).toBeUndefined()
})

describe.each(VERIFIERS)('$name', ({ name, toolchain, refuses }) => {
  describeUnless(obstacleTo(toolchain))(`for ${toolchain}`, () => {
    const outcome = () => outcomes.get(name)!

    it('runs from before the first rotation until after the last, and answers every request', () => {
      expect(outcome().failures).toEqual([])
      expect(outcome().ranThrough).toBe(true)
    })

    it('refuses tokens that are forged, for others, or expired', () => {
      expect(outcome().wronglyAccepted).toEqual([])
    })

    describe.each(PERIODS)('while the key %s was %s', (key, state) => {
      const tally = () => outcome().tallies[key][state]

      if (refuses.includes(key)) {
        it('has refused every token of it', () => {
          expect(tally().verified).toBe(0)
          expect(tally().refused).toBeGreaterThan(0)
        })
      } else {
        it('has verified every token of it', () => {
          const { verified, ...refusals } = tally()
          expect(refusals).toEqual({ refused: 0 })
          expect(verified).toBeGreaterThan(0)
        })
      }
    })
  })
})
