/** After all tests: see `new-database.ts`. */
import { tearDown } from './new-database.ts'

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default tearDown
