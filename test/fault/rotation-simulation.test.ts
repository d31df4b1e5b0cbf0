/**
 * The long form of the ten years of rotation, with more lives than `npm test` has time for.
 */
import { describeTenYears } from '../unit/domain/keys/rotation-invariants.ts'

describeTenYears(100)
