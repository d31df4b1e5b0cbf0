import { describeFastPath } from './fast-path-contract.ts'

/** More random requests: `test/fault/fast-path.test.ts`. */
describeFastPath(50)
