/** Serves the `verify` of a module on loopback, as the test expects it: `node serve.mjs ./jose.mjs`. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const { verify } = await import(process.argv[2])

const server = createServer(async (request, response) => {
  const token = await text(request)
  try {
    await verify(token)
    response.writeHead(200).end('verified')
  } catch (error) {
    response.writeHead(401).end(`${error.name}: ${error.message}`)
  }
}).listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`ready ${server.address().port}\n`)
