// An MCP server that checks tokens with @keyturn/verify, and an MCP client that gets them from Keyturn. Both are of the published SDK.

import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import express from 'express'

const { ISSUER, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, RESOURCE, KEYTURN_VERIFY } = process.env
const { createVerifier, expressMiddleware } = await import(KEYTURN_VERIFY)

const resource = new URL(RESOURCE)
const verifier = createVerifier({ issuer: ISSUER, audience: RESOURCE })
const app = express()
app.use(express.json())
// RFC 9728 §3.
app.get(`/.well-known/oauth-protected-resource${resource.pathname}`, (_req, res) => {
  res.json({ resource: RESOURCE, authorization_servers: [ISSUER] })
})
app.post(resource.pathname, expressMiddleware(verifier), async (req, res) => {
  const { subject, claims } = verifier.tokenOf(req)
  const server = new McpServer({ name: 'test', version: '1.0.0' })
  server.registerTool('caller', { description: 'Who calls' }, () => ({
    content: [{ type: 'text', text: JSON.stringify({ subject, audience: claims.aud }) }],
  }))
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  await transport.handleRequest(req, res, req.body)
})
const listening = app.listen(Number(resource.port), resource.hostname)

const client = new Client({ name: 'test', version: '1.0.0' })
const authProvider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: ISSUER })
try {
  await client.connect(new StreamableHTTPClientTransport(resource, { authProvider }))
  const { content } = await client.callTool({ name: 'caller', arguments: {} })
  process.stdout.write(content[0].text)
} catch (error) {
  process.stdout.write(JSON.stringify({ error: String(error) }))
} finally {
  await client.close()
  listening.close()
  listening.closeAllConnections()
}
