import { describeTenYears } from './rotation-invariants.ts'

describeTenYears(15)
