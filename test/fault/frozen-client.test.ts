/** A replica that hangs at any statement of a change, on the newest PostgreSQL and on an older one. */
import { describeFrozenClient } from '../api/storage/frozen-client-contract.ts'
import { WITHOUT_DEBIAN_POSTGRES } from '../support/postgres-programs.ts'

describeFrozenClient({ version: 'npm', points: ['before', 'after', 'within'], at: 'every statement' })

// PostgreSQL 15 does not end what is silent within a message: it has no limit for a transaction.
describeFrozenClient({
  version: 'debian',
  obstacle: WITHOUT_DEBIAN_POSTGRES,
  points: ['before', 'after'],
  at: 'every statement',
})
