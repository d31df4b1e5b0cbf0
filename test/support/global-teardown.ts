/** After all tests. */
import { tearDown } from './global-setup.ts'

// biome-ignore lint/style/noDefaultExport: Jest asks for one.
export default tearDown
