import { describeFastPath } from './fast-path-contract.ts'

describeFastPath(50)
