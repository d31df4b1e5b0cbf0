/**
 * A process that sends most of a body on each of many connections and stops there, for `held-bodies.test.ts`.
 *
 * Arguments: the port, how many connections, how many bytes, in pieces of how many. Tells how many connections were opened when all
 * is sent, and stays until it is killed.
 */
import { connect, type Socket } from 'node:net'

const AT_ONCE = 50

const [port = 0, count = 0, bytes = 0, piece = 0] = process.argv.slice(2).map(Number)
const head =
  'POST /oauth/v2/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n' +
  `content-length: ${bytes + 1}\r\n\r\n`
const sockets: Socket[] = []
for (let opened = 0; opened < count; opened += AT_ONCE) {
  const some = Array.from({ length: AT_ONCE }, () => connect(port, '127.0.0.1'))
  await Promise.all(some.map((socket) => settled(socket, 'connect')))
  for (const socket of some) socket.resume().write(head)
  sockets.push(...some)
}
for (let sent = 0; sent < bytes; sent += piece) {
  await Promise.all(sockets.filter(({ destroyed }) => !destroyed).map((socket) => write(socket)))
}
process.send?.({ connections: sockets.length })
// A listener keeps the channel, and so the process, alive.
process.on('message', () => {})

function settled(socket: Socket, event: string): Promise<unknown> {
  // The server cuts connections off.
  socket.on('error', () => {})
  return new Promise((resolve) => socket.once(event, resolve).once('close', resolve))
}

function write(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => {
    socket.once('close', resolve)
    socket.write('a'.repeat(piece), () => {
      socket.off('close', resolve)
      resolve(undefined)
    })
  })
}
