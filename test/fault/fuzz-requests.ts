/**
 * Requests of HTTP/1.1 as bytes: for every endpoint, right, nearly right and wrong.
 */
import { gzipSync } from 'node:zlib'
import type { DescMethod, DescService } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { certificateOf } from '../support/certificates.ts'
import { accidents, after, encoded, type Known, messageOf } from './fuzz-messages.ts'
import { fuzzProof } from './fuzz-proofs.ts'

/** A request to be sent. */
export interface FuzzRequest {
  readonly kind: string
  readonly bytes: Buffer
  readonly isHead: boolean
  /** Whether what follows on the connection may be taken for a part of it. */
  readonly mayNotEnd: boolean
  /** The RPC that it may be, for reading the answer. */
  readonly method?: DescMethod
}

/** What the requests know of the instance. */
export interface FuzzTarget {
  readonly services: readonly DescService[]
  readonly known: Known
  /** Of the owner. */
  readonly token: string
  /** The same, bound to the key of `fuzz-proofs.ts`. */
  readonly boundToken: string
  readonly clientId: string
  readonly clientSecret: string
  readonly baseUrl: string
}

const OAUTH_PATHS = [
  '/oauth/v2/token',
  '/oauth/v2/introspect',
  '/oauth/v2/revoke',
  '/.well-known/openid-configuration/jwks',
  '/.well-known/jwks.json',
  '/oauth/v2/keys',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/healthz',
  '/readyz',
]

/** A thousand bytes that are a million. */
const BOMB = gzipSync(Buffer.alloc(1_000_000))

/** The luck with which an envelope is marked as compressed. */
const COMPRESSED = 6

/** Methods that cost seconds of computing, or leave something behind each time. They are called less often. */
const COSTLY = /^(Create|Generate|AddUserKey)/

/**
 * Any request.
 *
 * All of it is made of parts that are made once: making a part, such as any string, takes longer than drawing from it.
 */
export function fuzzRequest(target: FuzzTarget): fc.Arbitrary<FuzzRequest> {
  // A stream that is granted has no end.
  const methods = target.services.flatMap(({ methods }) => methods).filter(({ methodKind }) => methodKind === 'unary')
  const cheap = methods.filter(({ name }) => !COSTLY.test(name))
  const costly = methods.filter(({ name }) => COSTLY.test(name))
  const parts = { bearer: authorization(target), extra: extraHeaders() }
  const rpc = (some: readonly DescMethod[]) => fc.oneof(...some.map((method) => rpcRequest(target, method, parts)))
  return fc.oneof(
    { weight: 6, arbitrary: tokenRequest(target) },
    {
      weight: 12,
      arbitrary: fc.oneof({ weight: 30, arbitrary: rpc(cheap) }, { weight: 1, arbitrary: rpc(costly) }),
    },
    { weight: 3, arbitrary: fc.oneof(...cheap.map((method) => boundRequest(target, method))) },
    { weight: 3, arbitrary: fc.oneof(...cheap.map((method) => getRequest(target, method, parts))) },
    { weight: 4, arbitrary: anyRequest(methods, parts) },
    { weight: 1, arbitrary: garbage() },
  )
}

/** Header fields that requests of several kinds have. */
interface HeaderParts {
  readonly bearer: fc.Arbitrary<Record<string, string>>
  readonly extra: fc.Arbitrary<Record<string, string>>
}

function tokenRequest({ clientId, clientSecret, baseUrl }: FuzzTarget): fc.Arbitrary<FuzzRequest> {
  const id = fc.oneof(
    { weight: 3, arbitrary: fc.constant(clientId) },
    { weight: 1, arbitrary: fc.uuid().map((uuid) => `${uuid}@keyturn`) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  )
  const secret = fc.oneof(
    { weight: 6, arbitrary: fc.constant(clientSecret) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
    { weight: 1, arbitrary: fc.constant('x'.repeat(5_000)) },
  )
  const scope = fc.oneof(
    fc.constantFrom(
      'openid',
      'openid profile',
      'urn:service:iam:org:project:id:service:aud',
      '',
      ' ',
      'a'.repeat(3_000),
    ),
    fc
      .array(fc.constantFrom('openid', 'email', 'offline_access', 'urn:service:iam:org:projects:roles', 'x'), {
        maxLength: 200,
      })
      .map((words) => words.join(' ')),
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  const assertion = fc
    .tuple(
      fc.dictionary(fc.constantFrom('alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'x'), fc.jsonValue()),
      fc.dictionary(fc.constantFrom('iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'), fc.jsonValue()),
      fc.uint8Array({ maxLength: 70 }),
    )
    .map((parts) =>
      parts
        .map((part) => Buffer.from(part instanceof Uint8Array ? part : JSON.stringify(part)).toString('base64url'))
        .join('.'),
    )
  const pair = fc.oneof(
    { weight: 6, arbitrary: fc.constant(['grant_type', 'client_credentials'] as const) },
    { weight: 3, arbitrary: id.map((value) => ['client_id', value] as const) },
    { weight: 3, arbitrary: secret.map((value) => ['client_secret', value] as const) },
    { weight: 3, arbitrary: scope.map((value) => ['scope', value] as const) },
    {
      weight: 1,
      arbitrary: fc.constant([
        'client_assertion_type',
        'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      ] as const),
    },
    { weight: 1, arbitrary: assertion.map((value) => ['client_assertion', value] as const) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(
          ['grant_type', 'authorization_code'],
          ['grant_type', ''],
          ['resource', 'x'],
          ['audience', 'x'],
          ['__proto__', 'x'],
          ['request', 'x'],
        )
        .map(([name = '', value = '']) => [name, value] as const),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.string({ unit: 'binary', maxLength: 12 }), fc.string({ unit: 'binary', maxLength: 12 })),
    },
  )
  const right = fc
    .tuple(id, secret, scope)
    .map(([client_id, client_secret, words]) =>
      Object.entries({ grant_type: 'client_credentials', client_id, client_secret, scope: words }),
    )
  const form = fc
    .oneof(right, fc.uniqueArray(pair, { selector: ([name]) => name, maxLength: 8 }), fc.array(pair, { maxLength: 12 }))
    .map((pairs) => pairs.map(([name, value]) => `${percent(name)}=${percent(value)}`).join('&'))
  const body = fc.oneof(
    { weight: 5, arbitrary: form.map((text) => Buffer.from(text)) },
    {
      weight: 1,
      arbitrary: fc.tuple(accidents(), form).map(([accidents, text]) => after(accidents, Buffer.from(text))),
    },
  )
  const basic = fc.oneof(
    fc
      .tuple(id, secret)
      .map(([name, value]) => `Basic ${Buffer.from(`${percent(name)}:${percent(value)}`).toString('base64')}`),
    fc.constantFrom('Basic', 'Basic ', 'Basic Og==', 'Basic %%%', 'Bearer x', 'basic eDp5', 'Digest x', 'Basic eA=='),
  )
  return fc
    .record({
      body,
      authorization: fc.option(basic, { freq: 3 }),
      dpop: fc.option(fuzzProof(`${baseUrl}/oauth/v2/token`), { freq: 1 }),
      certificate: fc.option(fuzzCertificate(), { freq: 1 }),
      contentType: fc.oneof(
        { weight: 9, arbitrary: fc.constant('application/x-www-form-urlencoded') },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            'application/json',
            'text/plain',
            'multipart/form-data; boundary=x',
            'application/x-www-form-urlencoded; charset=utf-16',
            '',
          ),
        },
      ),
    })
    .map(({ body, authorization, dpop, certificate, contentType }) =>
      request('token', 'POST', '/oauth/v2/token', {
        headers: {
          'content-type': contentType,
          ...(authorization === null ? {} : { authorization }),
          ...(dpop === null ? {} : { dpop }),
          ...(certificate === null ? {} : { 'client-cert': certificate }),
        },
        body,
      }),
    )
}

/** Calls with a bound token (RFC 9449 §7.1). Each proof is about its own method, so there are no parts to share. */
function boundRequest({ known, baseUrl, boundToken }: FuzzTarget, method: DescMethod): fc.Arbitrary<FuzzRequest> {
  const path = pathOf(method)
  const type = fc.constantFrom('application/json', 'application/proto', 'application/grpc-web+proto')
  const authorization = fc.oneof(
    { weight: 8, arbitrary: fc.constant(`DPoP ${boundToken}`) },
    { weight: 1, arbitrary: fc.constant(`Bearer ${boundToken}`) },
  )
  return fc
    .tuple(type, messageOf(method.input, known), authorization, fuzzProof(baseUrl + path, boundToken))
    .map(([type, message, authorization, dpop]) => {
      const payload = encoded(method.input, message, type.includes('json') ? 'json' : 'proto') ?? Buffer.from('{}')
      const body = type.includes('grpc') ? envelope(payload, 0) : payload
      const headers = { 'content-type': type, authorization, dpop }
      return { ...request('bound', 'POST', path, { headers, body }), method }
    })
}

const CERTIFICATE = certificateOf()

/** The header `Client-Cert`: good, or with bytes that are not. */
function fuzzCertificate(): fc.Arbitrary<string> {
  const { der } = CERTIFICATE
  const broken = fc.tuple(fc.nat(der.length - 1), fc.nat(255)).map(([at, byte]) => {
    const bytes = Buffer.from(der)
    bytes[at] = byte
    return bytes
  })
  const bytes = fc.oneof(fc.constant(der), broken, fc.uint8Array({ maxLength: 40 }))
  return fc.oneof(
    bytes.map((content) => `:${Buffer.from(content).toString('base64')}:`),
    fc.constantFrom('', ':', '::', 'x', `:${der.toString('base64')}:, ::`),
  )
}

function rpcRequest(
  { known }: FuzzTarget,
  method: DescMethod,
  { bearer, extra }: HeaderParts,
): fc.Arbitrary<FuzzRequest> {
  const contentType = fc.constantFrom(
    'application/json',
    'application/proto',
    'application/proto',
    'application/grpc-web+proto',
    'application/grpc-web+json',
    'application/grpc',
    'application/connect+proto',
    'application/json; charset=utf-8',
    'application/xml',
  )
  const junk = fc.option(fc.uint8Array({ maxLength: 300 }), { freq: 2 })
  const gzip = fc.constantFrom('whole', 'cut', 'bomb', null, null, null, null, null, null)
  return fc
    .tuple(contentType, messageOf(method.input, known), bearer, extra, fc.nat(9), accidents(), junk, gzip)
    .map(([type, message, bearer, extra, luck, accidents, junk, gzip]) => {
      const plain = encoded(method.input, message, type.includes('json') ? 'json' : 'proto') ?? Buffer.from('{}')
      const isEnveloped = /grpc|connect/.test(type)
      const payload = gzip === null ? plain : gzipped(plain, gzip)
      const right = isEnveloped ? envelope(payload, gzip === null ? luck : COMPRESSED) : payload
      const body = luck < 7 ? right : after(accidents, junk === null ? right : Buffer.from(junk))
      const encoding = gzip === null ? {} : { [isEnveloped ? 'grpc-encoding' : 'content-encoding']: 'gzip' }
      const headers = { 'content-type': type, ...bearer, ...extra, ...encoding }
      return { ...request(gzip === null ? 'rpc' : 'gzip', 'POST', pathOf(method), { headers, body }), method }
    })
}

function gzipped(message: Buffer, kind: 'whole' | 'cut' | 'bomb'): Buffer {
  if (kind === 'bomb') return BOMB
  const whole = gzipSync(message)
  return kind === 'whole' ? whole : whole.subarray(0, message.length % whole.length)
}

function getRequest({ known }: FuzzTarget, method: DescMethod, { bearer }: HeaderParts): fc.Arbitrary<FuzzRequest> {
  const parameters = fc.record(
    {
      encoding: wordOr(['json', 'proto', 'xml', '', 'constructor']),
      base64: fc.constantFrom('0', '1', '2'),
      compression: wordOr(['identity', 'gzip', 'x']),
      connect: fc.constantFrom('v1', 'v2', ''),
      message: fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.constantFrom('{}', '', 'e30', 'e30=')),
    },
    { requiredKeys: [] },
  )
  return fc
    .tuple(parameters, messageOf(method.input, known), bearer, fc.boolean())
    .map(([parameters, message, bearer, isRight]) => {
      const right = { encoding: 'json', connect: 'v1', message: String(encoded(method.input, message, 'json') ?? '{}') }
      const query = Object.entries(isRight ? right : parameters).map(([name, value]) => `${name}=${percent(value)}`)
      return { ...request('get', 'GET', `${pathOf(method)}?${query.join('&')}`, { headers: bearer }), method }
    })
}

/** One of these, or now and then any text. */
function wordOr(words: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...words) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  )
}

function anyRequest(methods: readonly DescMethod[], { bearer, extra }: HeaderParts): fc.Arbitrary<FuzzRequest> {
  const path = fc.oneof(
    fc.constantFrom(...OAUTH_PATHS, ...methods.map(pathOf)),
    fc.constantFrom(
      '/',
      '*',
      '//',
      '/..',
      '/%',
      '/%00',
      '/metrics',
      'http://other/healthz',
      'http:///',
      'https://x',
      '/healthz?%',
      '/healthz#x',
      '/iam.user.v2.ServiceUserService/',
      '/a'.repeat(4_000),
    ),
    fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).map((text) => `/${text.replaceAll(/[\s]/g, '+')}`),
  )
  const verb = fc.oneof(
    fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'),
    fc.constantFrom('CONNECT', 'FOO', 'get', 'G T'),
  )
  return fc
    .tuple(verb, path, extra, bearer, fc.option(fc.uint8Array({ maxLength: 100 })))
    .map(([name, target, extra, bearer, body]) =>
      request('any', name, target, {
        headers: { ...extra, ...bearer },
        ...(body === null ? {} : { body: Buffer.from(body) }),
      }),
    )
}

function garbage(): fc.Arbitrary<FuzzRequest> {
  const line = fc.oneof(
    fc.constantFrom(
      'GET / HTTP/1.1',
      'POST /oauth/v2/token HTTP/1.1',
      'GET / HTTP/1.0',
      'GET / HTTP/9.9',
      'PRI * HTTP/1.1',
      'host: x',
      'content-length: 5',
      'content-length: -1',
      'transfer-encoding: chunked',
      'transfer-encoding: x',
      'expect: 100-continue',
      'expect: x',
      'upgrade: h2c',
      'connection: upgrade, http2-settings',
      '',
    ),
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  return fc
    .oneof(
      fc.array(line, { minLength: 1, maxLength: 8 }).map((lines) => Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)),
      fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    )
    .map((bytes) => ({ kind: 'garbage', bytes, isHead: false, mayNotEnd: true }))
}

function authorization({ token, baseUrl }: FuzzTarget): fc.Arbitrary<Record<string, string>> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant({ authorization: `Bearer ${token}` }) },
    { weight: 1, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fuzzProof(baseUrl).map((dpop) => ({ authorization: `DPoP ${token}`, dpop })) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(
          'Bearer',
          'DPoP',
          'DPoP x',
          'Bearer ',
          'bearer x',
          'Basic eDp5',
          `Bearer ${token}x`,
          `Bearer ${'.'.repeat(2_000)}`,
          'Bearer a.b.c',
          `Bearer ${token.split('.').slice(0, 2).join('.')}.`,
        )
        .map((authorization) => ({ authorization })),
    },
  )
}

function extraHeaders(): fc.Arbitrary<Record<string, string>> {
  const odd = fc.constantFrom(
    ['accept-encoding', 'gzip, br'],
    ['content-encoding', 'gzip'],
    ['content-encoding', 'x'],
    ['connect-protocol-version', '2'],
    ['connect-timeout-ms', '1'],
    ['connect-timeout-ms', 'x'],
    ['connect-timeout-ms', '-5'],
    ['connect-timeout-ms', '99999999999999'],
    ['grpc-timeout', '1n'],
    ['grpc-timeout', '99999999H'],
    ['grpc-timeout', 'x'],
    ['grpc-encoding', 'x'],
    ['origin', 'https://evil.test'],
    ['origin', 'null'],
    ['traceparent', '00-0-0-0'],
    ['traceparent', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
    ['x-request-id', 'x'.repeat(65)],
    ['x-request-id', '<script>'],
    ['x-forwarded-for', '999.1.1.1, x'],
    ['forwarded', 'for="_x"'],
    ['if-none-match', '*'],
    ['if-none-match', '"x", W/"y'],
    ['range', 'bytes=0-5'],
    ['access-control-request-method', 'POST'],
    ['access-control-request-headers', 'x,'],
    ['cookie', '__proto__=1'],
    ['x', 'y'.repeat(9_000)],
    ['te', 'trailers'],
    ['connection', 'close'],
    ['x-bin', '\u00ff\u0080'],
    ['host', ''],
    ['host', 'a b'],
  )
  return fc.array(odd, { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs))
}

function request(
  kind: string,
  verb: string,
  path: string,
  { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: Buffer },
): FuzzRequest {
  const all = {
    host: 'localhost',
    ...headers,
    ...(body === undefined ? {} : { 'content-length': String(body.length) }),
  }
  const head = [
    `${verb} ${path} HTTP/1.1`,
    ...Object.entries(all).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n')
  // After CONNECT, or a body under a method that Node reads without one, the rest of the connection is something else.
  return {
    kind,
    bytes: Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]),
    isHead: verb === 'HEAD',
    mayNotEnd: verb === 'CONNECT',
  }
}

function envelope(payload: Buffer, luck: number): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(luck === COMPRESSED ? 1 : luck === 5 ? 0x82 : 0)
  head.writeUInt32BE(luck === 4 ? payload.length + 7 : payload.length, 1)
  return Buffer.concat([head, payload])
}

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`
}

function percent(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}
