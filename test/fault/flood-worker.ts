/**
 * A process that floods a port, for `flood.test.ts`: beside the client that wants to be served, not in its way.
 *
 * Arguments: the port and the name of the flood. Tells what was sent when it is over.
 */
import { FLOODS } from './floods.ts'

const [port = '', name = ''] = process.argv.slice(2)
const flood = FLOODS[name]
if (flood === undefined) throw new Error(`there is no flood ${JSON.stringify(name)}`)
process.send?.(await flood.send(Number(port), flood.least))
process.disconnect()
