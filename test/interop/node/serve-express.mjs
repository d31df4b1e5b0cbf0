/** Serves an application of Express that needs a token, on loopback. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import express from 'express'
import { requireAccessToken } from './express-oauth2-jwt-bearer.mjs'

const app = express()
app.post('/verify', requireAccessToken, (_, response) => response.send('verified'))
app.use((error, _request, response, _next) => response.status(error.status ?? 500).send(String(error)))

const server = createServer(app).listen(0, '127.0.0.1')
await once(server, 'listening')
process.stdout.write(`ready ${server.address().port}\n`)
