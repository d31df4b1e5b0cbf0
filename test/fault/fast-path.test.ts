/** The long form of the comparison of the fast path with oidc-provider. */
import { describeFastPath } from '../unit/oauth/token/fast-path-contract.ts'

describeFastPath(1000)
