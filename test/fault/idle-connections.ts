/**
 * A process that holds connections open and says nothing, for `flood.test.ts`.
 *
 * Arguments: the port, how many. Tells when all have been tried.
 */
import { connect } from 'node:net'

const AT_ONCE = 50

const [port = 0, count = 0] = process.argv.slice(2).map(Number)
let left = count
let connected = 0
const openNext = async (): Promise<void> => {
  while (left > 0) {
    left -= 1
    const socket = connect(port, '127.0.0.1')
    await new Promise<void>((resolve) => {
      socket.once('connect', () => {
        connected += 1
        resolve()
      })
      socket.once('close', () => resolve())
      // A server that is full lets go of connections.
      socket.on('error', () => {})
    })
    socket.resume()
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, openNext))
process.send?.({ connected })
// A listener keeps the channel, and so the process, alive.
process.on('message', () => {})
