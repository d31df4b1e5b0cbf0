/** The two roles of docs/operations.md on the older PostgreSQL that Debian installs. */
import { describeTwoRoles } from '../docs/two-roles-contract.ts'
import { WITHOUT_DEBIAN_POSTGRES } from '../support/postgres-programs.ts'

describeTwoRoles({ version: 'debian', obstacle: WITHOUT_DEBIAN_POSTGRES })
