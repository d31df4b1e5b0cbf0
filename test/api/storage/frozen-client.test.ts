import { sharedPostgres } from '../../support/new-database.ts'
import { describeFrozenClient } from './frozen-client-contract.ts'

/** At every statement, and on an older server: `test/fault/frozen-client.test.ts`. */
describeFrozenClient({
  version: 'npm',
  points: ['before', 'after', 'within'],
  at: 'telling statements',
  shared: sharedPostgres,
})
