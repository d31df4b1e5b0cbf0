/**
 * Plans and exports against each other, on random configurations.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { afterPlan, EMPTY, exported, planOf } from './planned-instance.ts'
import { configurations } from './random-configurations.ts'

/** An instance after several configurations, each of which prunes or not. */
const states = fc
  .array(fc.record({ configuration: configurations, prune: fc.boolean() }), { minLength: 1, maxLength: 3 })
  .map((steps) =>
    steps.reduce((state, { configuration, prune }) => afterPlan(state, planOf(configuration, state, { prune })), EMPTY),
  )

describe('a configuration', () => {
  it('that was applied makes no difference, whatever the instance was like before', () => {
    fc.assert(
      fc.property(states, configurations, fc.boolean(), (state, configuration, prune) => {
        const next = afterPlan(state, planOf(configuration, state, { prune }))
        const again = planOf(configuration, next, { prune })
        expect(again.changes.map(({ name, fields }) => ({ name, fields }))).toEqual([])
        expect(again.takenOver).toEqual([])
      }),
    )
  })

  it('that prunes leaves what it has and nothing else', () => {
    fc.assert(
      fc.property(states, configurations, (state, configuration) => {
        const next = afterPlan(state, planOf(configuration, state, { prune: true }))
        const fromNothing = afterPlan(EMPTY, planOf({ ...configuration, rotationPolicy: next.policy }, EMPTY))
        expect(exported(next)).toEqual(exported({ ...fromNothing, policy: next.policy }))
      }),
    )
  })

  it('that was exported makes no difference, and makes an empty instance the same', () => {
    fc.assert(
      fc.property(states, (state) => {
        const configuration = exported(state)
        expect(planOf(configuration, state, { prune: true }).changes).toEqual([])
        expect(exported(afterPlan(EMPTY, planOf(configuration, EMPTY)))).toEqual(configuration)
      }),
    )
  })
})
