import { sharedPostgres } from '../../support/new-database.ts'
import { defaultOrigin } from '../../support/postgres-programs.ts'
import { WITHOUT_CUTS } from '../../support/statement-proxy.ts'
import { describeFrozenClient } from './frozen-client-contract.ts'

const version = defaultOrigin()

/** At every statement, and on each version: `test/fault/frozen-client.test.ts`. */
describeFrozenClient({
  version,
  // PostgreSQL 15 does not end what is silent within a message while TCP lives.
  points: [
    'before',
    'after',
    ...(version === 'npm' ? (['within'] as const) : []),
    ...(WITHOUT_CUTS === undefined ? (['cut'] as const) : []),
  ],
  at: 'telling statements',
  shared: sharedPostgres,
})
