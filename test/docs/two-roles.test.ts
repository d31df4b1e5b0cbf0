import { describeTwoRoles } from './two-roles-contract.ts'

/** On an older server: `test/fault/two-roles.test.ts`. */
describeTwoRoles({ version: 'npm' })
