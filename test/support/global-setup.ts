/** Before all tests: see `new-database.ts`. */
import { setUp } from './new-database.ts'

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default setUp
