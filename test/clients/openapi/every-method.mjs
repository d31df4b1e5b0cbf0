/**
 * Calls methods with the generated client. Standard input has a token and the requests by function; standard output gets the status of each
 * and its response or error.
 */
import { json } from 'node:stream/consumers'
import { client } from './client/client.gen.ts'

const api = await import('./client/index.ts')
const { token, requests } = await json(process.stdin)
client.setConfig({ auth: ({ scheme }) => (scheme === 'bearer' ? token : undefined) })

const outcomes = {}
for (const [name, body] of Object.entries(requests)) {
  const { data, error, response } = await api[name](body === null ? {} : { body })
  outcomes[name] = { status: response.status, answer: data ?? error }
}
process.stdout.write(JSON.stringify(outcomes))
