import { describeTwoRoles } from './two-roles-contract.ts'

describeTwoRoles({ version: 'npm' })
