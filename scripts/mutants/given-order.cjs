/** Runs test files in the order in which `main.ts` names them. */
const { default: Sequencer } = require('@jest/test-sequencer')

module.exports = class extends Sequencer {
  sort(tests) {
    const given = (process.env.KEYTURN_MUTANT_TESTS ?? '').split(',')
    const position = ({ path }) => given.findIndex((name) => path.endsWith(name))
    return tests.toSorted((a, b) => position(a) - position(b))
  }
}
