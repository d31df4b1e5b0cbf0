/**
 * A process that floods a port, for `flood.test.ts`: beside the client that wants to be served, not in its way.
 *
 * Arguments: the port and the name of the flood. Tells when it is over.
 */
import { FLOODS } from './floods.ts'

const [port = '', name = ''] = process.argv.slice(2)
await FLOODS[name]?.(Number(port))
process.send?.({ over: name })
process.disconnect()
