/**
 * An OpenID provider of another project in a process of its own: oidc-provider, with its pages for development. Who signs in as
 * `name:group,group` is that name, in these groups. The first line of its output is its issuer.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

const [redirectUri = '', clientSecret = ''] = process.argv.slice(2)

const server = createServer((req, res) => handle(req, res))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const issuer = `http://localhost:${(server.address() as AddressInfo).port}`

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'keyturn',
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      subject_type: 'pairwise',
    },
  ],
  claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
  scopes: ['openid', 'profile', 'email', 'groups'],
  conformIdTokenClaims: false,
  subjectTypes: ['pairwise'],
  pairwiseIdentifier: (_ctx, id) => id.split(':')[0] ?? '',
  findAccount: (_ctx, id) => ({
    accountId: id,
    claims: () => {
      const [name = '', groups = ''] = id.split(':')
      return { sub: id, name: `${name} Doe`, groups: groups.split(',') }
    },
  }),
  cookies: { keys: ['test'] },
})
const handle = provider.callback()
process.stdout.write(`${issuer}\n`)
process.on('disconnect', () => process.exit())
