/**
 * The least that issuing a token takes: reads the form, hashes the secret and compares it, decides, signs, writes. No
 * checks of anything else, no limits, no log. Nothing that does the same work can cost less with `node:http`.
 */
import { createPublicKey, hash, type KeyObject, randomUUID, sign, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parse } from 'node:querystring'
import { derivedClients } from './clients.ts'
import { type Algorithm, USUAL_CLIENTS } from './contender.ts'
import { newPrivateKey, parseAlgorithm } from './key-pair.ts'

const LIFETIME_SECONDS = 3600
const KID = 'floor'

/** Signs the first two parts of a token. RSA on the thread pool, what is quick right here: the cheapest way for each. */
type Sign = (input: string, signed: (signature: string) => void) => void

const algorithm = parseAlgorithm(process.argv[2])
const privateKey = newPrivateKey(algorithm)
const signToken = signer(algorithm, privateKey)
const header = encode({ alg: algorithm, typ: 'at+jwt', kid: KID })
const keySet = JSON.stringify({
  keys: [{ ...createPublicKey(privateKey).export({ format: 'jwk' }), use: 'sig', kid: KID, alg: algorithm }],
})
const hashes = new Map(
  derivedClients(USUAL_CLIENTS).map(({ clientId, clientSecret }) => [clientId, hash('sha256', clientSecret, 'buffer')]),
)

const server = createServer((request, response) => {
  if (request.method === 'POST') readForm(request, (form) => answer(form, response))
  else response.writeHead(200, { 'content-type': 'application/json', 'content-length': keySet.length }).end(keySet)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`floor listens on ${issuer()}\n`)
})
process.on('SIGTERM', () => process.exit())

function readForm(request: IncomingMessage, read: (form: string) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => read(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString()))
}

function answer(form: string, response: ServerResponse): void {
  const { grant_type, client_id, client_secret, scope } = parse(form)
  const known = hashes.get(String(client_id))
  const mayHaveToken =
    grant_type === 'client_credentials' &&
    known !== undefined &&
    timingSafeEqual(hash('sha256', String(client_secret), 'buffer'), known)
  if (!mayHaveToken) return void response.writeHead(401).end()

  const clientId = String(client_id)
  const iat = Math.floor(Date.now() / 1000)
  const claims = {
    jti: randomUUID(),
    sub: clientId.slice(0, 36),
    iat,
    exp: iat + LIFETIME_SECONDS,
    scope,
    client_id: clientId,
    iss: issuer(),
    aud: [issuer()],
  }
  const input = `${header}.${encode(claims)}`
  signToken(input, (signature) => {
    const body = JSON.stringify({
      access_token: `${input}.${signature}`,
      expires_in: LIFETIME_SECONDS,
      scope,
      token_type: 'Bearer',
    })
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': body.length,
      'cache-control': 'no-store',
    })
    response.end(body)
  })
}

/** The key itself goes to `sign`: an object with the key and options costs as much again as an ES256 signature. */
function signer(name: Algorithm, key: KeyObject): Sign {
  switch (name) {
    case 'RS256':
      return (text, signed) =>
        sign('sha256', Buffer.from(text), key, (error, signature) => {
          if (error) throw error
          signed(signature.toString('base64url'))
        })
    case 'ES256':
      return (text, signed) => signed(sideBySide(sign('sha256', Buffer.from(text), key)).toString('base64url'))
    case 'EdDSA':
      return (text, signed) => signed(sign(null, Buffer.from(text), key).toString('base64url'))
  }
}

/** r and s of a P-256 signature as JOSE wants them (RFC 7518 §3.4), out of their ASN.1. */
function sideBySide(der: Buffer): Buffer {
  const joined = Buffer.alloc(64)
  const endOfR = 4 + (der[3] ?? 0)
  for (const [begin, end, target] of [
    [4, endOfR, 32],
    [endOfR + 2, der.length, 64],
  ] as const) {
    const number = der.subarray(Math.max(begin, end - 32), end)
    number.copy(joined, target - number.length)
  }
  return joined
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function issuer(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
