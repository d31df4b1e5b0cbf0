/** Serves the `verify` of a module on loopback, as the test, and nginx, expect it: `node serve.mjs ./jose.mjs`. */
import { once } from 'node:events'
import { createServer } from 'node:http'

const { verify } = await import(process.argv[2])

const server = createServer(async (request, response) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  request.resume()
  try {
    await verify(token)
    response.writeHead(200).end('verified')
  } catch (error) {
    response.writeHead(401).end(`${error.name}: ${error.message}`)
  }
}).listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`ready ${server.address().port}\n`)
