import { describeTenYears } from './rotation-invariants.ts'

/** The lives of the long form, `test/fault/rotation-simulation.test.ts`, are more. */
describeTenYears(15)
