/** A replica that hangs at any statement of a change, on the newest PostgreSQL and on an older one. */
import { describeFrozenClient } from '../api/storage/frozen-client-contract.ts'
import { WITHOUT_DEBIAN_POSTGRES } from '../support/postgres-programs.ts'
import { WITHOUT_CUTS } from '../support/statement-proxy.ts'

describeFrozenClient({ version: 'npm', points: ['before', 'after', 'within'], at: 'every statement' })

// PostgreSQL 15 does not end what is silent within a message while TCP lives: it has no limit for a transaction.
describeFrozenClient({
  version: 'debian',
  obstacle: WITHOUT_DEBIAN_POSTGRES ?? WITHOUT_CUTS,
  points: ['before', 'after', 'cut'],
  at: 'every statement',
})
