import { sharedPostgres } from '../../support/new-database.ts'
import { defaultOrigin } from '../../support/postgres-programs.ts'
import { describeFrozenClient } from './frozen-client-contract.ts'

const version = defaultOrigin()

/** At every statement, and on each version: `test/fault/frozen-client.test.ts`. */
describeFrozenClient({
  version,
  // PostgreSQL 15 does not end what is silent within a message.
  points: version === 'npm' ? ['before', 'after', 'within'] : ['before', 'after'],
  at: 'telling statements',
  shared: sharedPostgres,
})
