/**
 * Token requests of every kind: those that the tests of the token endpoint send, and more.
 */
import { ROLES_SCOPE, SERVICE_AUDIENCE_SCOPE, STANDARD_SCOPES } from '../../../../src/domain/identities/token-grant.ts'
import { basicCredentials } from '../../../support/oauth-instance.ts'

/** A request as it goes over the wire. */
export interface TokenRequestCase {
  readonly name: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** Whether the body comes without its length. */
  readonly chunked?: boolean
}

/** Who can make requests, and what they may ask for. */
export interface Clients {
  readonly issuer: string
  /** With a secret that works, roles in its own project and another one, and the scope `invoices:read`. */
  readonly clientId: string
  readonly secret: string
  readonly otherSecrets: { readonly second: string; readonly expired: string; readonly deactivated: string }
  /** Signed by a key of the client (RFC 7523). */
  readonly assertions: { readonly good: string; readonly forElsewhere: string; readonly byOtherKey: string }
  readonly disabled: string
  readonly withoutGrant: string
  /** With the same secret, a lifetime of its tokens, and claims of its own in them. */
  readonly withSettings: string
  /** Gets bound tokens only. */
  readonly boundOnly: string
  /** May authenticate with the certificate of its connections. */
  readonly certified: string
  /** Its tokens are bound to its client certificate. */
  readonly certificateBound: string
  readonly unknown: string
  readonly projectId: string
  readonly otherProjectId: string
  readonly foreignProjectId: string
}

type Fields = Readonly<Record<string, string>> | readonly (readonly [string, string])[]

const GRANT = { grant_type: 'client_credentials' }
const audience = (projectId: string) => `urn:service:iam:org:project:id:${projectId}:aud`

const encode = (fields: Fields): string => String(new URLSearchParams(fields as Record<string, string>))
const basic = (text: string) => `Basic ${btoa(text)}`

/** All of them. */
export function tokenRequests(clients: Clients): TokenRequestCase[] {
  const { clientId, secret, otherSecrets, assertions } = clients
  const [userId = ''] = clientId.split('@')
  const own = { ...GRANT, client_id: clientId, client_secret: secret }
  const pairs = Object.entries(own)
  const good = encode(own)
  const authorization = basicCredentials(clientId, secret)
  const post = (name: string, fields: Fields, more: Partial<TokenRequestCase> = {}): TokenRequestCase => {
    return { name, body: encode(fields), ...more }
  }
  const header = (name: string, value: string, fields: Fields = GRANT): TokenRequestCase => {
    return { name, body: encode(fields), headers: { authorization: value } }
  }

  const grantedScopes = [
    ...STANDARD_SCOPES,
    `openid ${SERVICE_AUDIENCE_SCOPE}`,
    'invoices:read',
    'email openid invoices:read openid email',
    audience(clients.projectId),
    `${ROLES_SCOPE} ${audience(clients.otherProjectId)} ${SERVICE_AUDIENCE_SCOPE}`,
    [...STANDARD_SCOPES, 'invoices:read'].join(' '),
  ]
  const oddScopes = [
    ...['', ' openid', 'openid  email', 'OpenID', 'openid admin', '__proto__', 'openid\n', 'open"id', 'openid 🔑'],
    ...['x'.repeat(20_000), audience(clients.foreignProjectId), `${audience(clients.projectId)}:more`],
  ]
  const grantTypes = ['', 'authorization_code', 'password', 'made-up', 'CLIENT_CREDENTIALS', '__proto__']
  const clientIds = [
    ...['', '@billing', userId, `${userId}@keyturn`, clientId.toUpperCase(), `${clientId}@billing`, clients.unknown],
    ...[clients.disabled, clients.withoutGrant, clients.boundOnly],
  ]
  const secrets = ['', 'wrong', secret.toUpperCase(), `${secret}x`]
  const contentTypes = ['application/json', ';;;', 'application/x-www-form-urlencoded; charset=klingon']
  const formTypes = ['; charset=iso-8859-1', '; boundary=x', '; charset=UTF-8']
  const form = 'application/x-www-form-urlencoded'

  return [
    post('the usual one', own),
    post('a client with settings for its tokens', { ...own, client_id: clients.withSettings }),
    post('without a length', own, { chunked: true }),
    post('a client whose tokens are bound to its certificate', { ...own, client_id: clients.certificateBound }),
    post('the same with a scope', {
      ...own,
      client_id: clients.certificateBound,
      scope: 'openid email',
    }),
    ...['none', 'unreadable'].map((kind) =>
      post(
        `the same with a certificate that is ${kind}`,
        { ...own, client_id: clients.certificateBound },
        { headers: { 'x-certificate': kind } },
      ),
    ),
    ...['none', 'unreadable'].map((kind) =>
      post(`a certificate that is ${kind}`, own, { headers: { 'x-certificate': kind } }),
    ),
    ...[clients.certified, clientId, clients.unknown, clients.disabled, ''].map((client_id) =>
      post(`a certificate and no secret: ${client_id}`, { ...GRANT, client_id }),
    ),
    ...['none', 'unreadable'].map((kind) =>
      post(
        `no secret and a certificate that is ${kind}`,
        { ...GRANT, client_id: clients.certified },
        { headers: { 'x-certificate': kind } },
      ),
    ),
    post('a certificate and a wrong secret', { ...own, client_id: clients.certified, client_secret: 'wrong' }),
    post('a certificate and an empty secret', { ...own, client_id: clients.certified, client_secret: '' }),
    post('a wrong secret of a client with a certificate', {
      ...own,
      client_id: clients.certificateBound,
      client_secret: 'wrong',
    }),
    header('the usual one with HTTP Basic', authorization),
    header('HTTP Basic and a scope', authorization, { ...GRANT, scope: 'openid email' }),
    header('HTTP Basic and the same client in the form', authorization, { ...GRANT, client_id: clientId }),
    header('HTTP Basic in any letters', authorization.replace('Basic', 'bASIC')),
    header('HTTP Basic that is not encoded like a form', basic(`${clientId}:${secret}`)),
    header('HTTP Basic without padding', basic(`${clientId}:${secret}`).replace(/=+$/, '')),
    header('HTTP Basic and a secret in the form', authorization, own),
    header('HTTP Basic and an empty secret in the form', authorization, { ...GRANT, client_secret: '' }),
    header('HTTP Basic and another client in the form', authorization, { ...GRANT, client_id: 'another' }),
    header('HTTP Basic and an empty client in the form', authorization, { ...GRANT, client_id: '' }),
    header('an empty Authorization header', '', own),
    ...[
      'Basic',
      'Basic %%%',
      'Basic YWJjZ',
      basic('robot'),
      basic('robot:'),
      basic(':secret'),
      basic('robot%zz:secret'),
    ].map((value) => header(`Authorization ${value}`, value)),
    ...[basic('robot%ff:secret'), basic('robot%00:secret'), `${basic('robot:secret')} more`, 'Bearer abc', '::::'].map(
      (value) => header(`Authorization ${value}`, value),
    ),
    header('HTTP Basic with letters beyond ASCII', basicCredentials('robot🔑@billing', 'secret')),
    header('HTTP Basic with a colon in the secret', basic(`${clientId}:${secret}:x`)),
    header('HTTP Basic with a plus in the secret', basic(`${clientId}:a+b`)),
    header('HTTP Basic with two blanks', authorization.replace(' ', '  ')),
    ...grantedScopes.map((scope) => post(`the scope ${scope}`, { ...own, scope })),
    ...oddScopes.map((scope) => post(`the scope ${JSON.stringify(scope.slice(0, 60))}`, { ...own, scope })),
    { name: 'a scope with a wrong percent encoding', body: `${good}&scope=openid%2` },
    ...grantTypes.map((grant_type) => post(`the grant ${JSON.stringify(grant_type)}`, { ...own, grant_type })),
    ...Object.keys(own).map((name) =>
      post(
        `no ${name}`,
        pairs.filter(([field]) => field !== name),
      ),
    ),
    ...Object.entries({ ...own, scope: 'openid' }).flatMap(([name, value]) =>
      [value, 'another', ''].map((again) => post(`${name} twice`, [...pairs, ['scope', 'openid'], [name, again]])),
    ),
    ...clientIds.map((client_id) => post(`the client ${client_id.slice(0, 80)}`, { ...own, client_id })),
    ...clientIds.map((id) => header(`the client ${id.slice(0, 80)} in HTTP Basic`, basicCredentials(id, secret))),
    ...secrets.map((client_secret, i) => post(`wrong secret ${i}`, { ...own, client_secret })),
    ...secrets.map((wrong, i) => header(`wrong secret ${i} in HTTP Basic`, basicCredentials(clientId, wrong))),
    post('the second secret', { ...own, client_secret: otherSecrets.second }),
    post('an expired secret', { ...own, client_secret: otherSecrets.expired }),
    post('a deactivated secret', { ...own, client_secret: otherSecrets.deactivated }),
    ...Object.entries(assertions).flatMap(([name, assertion]) => {
      const proof = {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      }
      return [
        post(`an assertion: ${name}`, { ...GRANT, ...proof, scope: 'openid' }),
        post(`an assertion with the client ID: ${name}`, { ...GRANT, ...proof, client_id: clientId }),
        post(`an assertion and a secret: ${name}`, { ...own, ...proof }),
        header(`an assertion and HTTP Basic: ${name}`, authorization, { ...GRANT, ...proof }),
      ]
    }),
    post('a wrong secret and a scope that is not granted', { ...own, client_secret: 'wrong', scope: 'admin' }),
    ...[
      'audience',
      'request',
      'client_assertion',
      'client_assertion_type',
      'authorization_details',
      'dpop_jkt',
      '__proto__',
    ].map((name) => post(`a field ${name}`, { ...own, [name]: 'x' })),
    ...[clients.issuer, 'https://billing.example', 'urn:shipping', 'urn:elsewhere', 'not a URI', '#', ''].map(
      (resource) => post(`the resource ${resource}`, { ...own, resource }),
    ),
    post('the resource of the service and its scope', {
      ...own,
      resource: clients.issuer,
      scope: SERVICE_AUDIENCE_SCOPE,
    }),
    post('the resource of the service and the scope of a project', {
      ...own,
      resource: clients.issuer,
      scope: `${ROLES_SCOPE} ${audience(clients.projectId)}`,
    }),
    post('one resource twice', [...pairs, ['resource', clients.issuer], ['resource', clients.issuer]]),
    post('two resources that are audiences', [
      ...pairs,
      ['resource', 'urn:shipping'],
      ['resource', 'https://billing.example'],
    ]),
    post('two resources, one of them unknown', [...pairs, ['resource', clients.issuer], ['resource', 'urn:elsewhere']]),
    post('unknown fields twice', [...pairs, ['audience', 'a'], ['audience', 'b']]),
    { name: 'an encoded name', body: good.replace('grant_type', 'grant%5Ftype') },
    { name: 'a thousand fields', body: `${good}${'&x=1'.repeat(997)}` },
    { name: 'a thousand fields and one', body: `${good}${'&x=1'.repeat(998)}` },
    { name: 'the secret again behind a thousand fields', body: `${good}${'&x=1'.repeat(997)}&client_secret=x` },
    { name: 'an empty form', body: '' },
    {
      name: 'bytes that are no text behind a good form',
      body: Buffer.concat([Buffer.from(`${good}&x=`), Buffer.from([255, 254])]),
    },
    { name: 'a form that says it is packed', body: good, headers: { 'content-encoding': 'gzip' } },
    { name: 'JSON', body: JSON.stringify(own), headers: { 'content-type': 'application/json' } },
    ...contentTypes.map((type) => post(`the content type ${type}`, own, { headers: { 'content-type': type } })),
    ...formTypes.map((rest) =>
      post(`a form with ${rest}`, own, {
        headers: { 'content-type': form + rest },
      }),
    ),
    post('a form in capitals', own, { headers: { 'content-type': form.toUpperCase() } }),
    post('no content type', own, { headers: { 'content-type': '' } }),
    ...[4000, 57 * 1024].map((size) => post(`${size} bytes`, { ...own, scope: 'x'.repeat(size) })),
    post('57 KiB without a length', { ...own, scope: 'x'.repeat(57 * 1024) }, { chunked: true }),
    ...['text/html', 'nonsense'].flatMap((accept) => [
      post(`accepts ${accept}`, own, { headers: { accept } }),
      post(`accepts ${accept} with a wrong secret`, { ...own, client_secret: 'wrong' }, { headers: { accept } }),
    ]),
    post('from a page', own, { headers: { origin: 'https://elsewhere.example' } }),
    ...['dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop'].map((name) =>
      post(`with ${name}`, own, { headers: { [name]: 'x' } }),
    ),
    post('with an id of its own', own, { headers: { 'x-request-id': 'mine' } }),
    post('from behind a proxy', own, {
      headers: { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'x' },
    }),
    post('with a method override', own, { headers: { 'x-http-method-override': 'GET' } }),
    post('with Expect', own, { headers: { expect: '100-continue' } }),
  ]
}
