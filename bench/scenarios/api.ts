/**
 * The API: ListWebKeys over gRPC, and what verifying a token costs, here and where tokens are used.
 */
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { Administrator } from '../contenders/administrator.ts'
import { ALGORITHMS, type Algorithm } from '../contenders/contender.ts'
import { type Keyturn, postgresInstance, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import { postRequest } from '../load/requests.ts'
import { costRow } from './rows.ts'
import type { Bench, Result, Row } from './scenario.ts'
import { type GrpcLoad, type HttpLoad, takeTurns } from './turns.ts'

const METHOD = '/iam.webkey.v2beta.WebKeyService/ListWebKeys'
const CONCURRENCY = 16
const SESSIONS = 4
/** Connect's form of an empty message. */
const HEADERS = { 'content-type': 'application/proto', 'connect-protocol-version': '1' }

/** Calls with tokens of each algorithm over Connect and HTTP/1.1, the first one over gRPC too. */
export async function api({ postgres, load, effort }: Bench, place: Place): Promise<Result> {
  const keyturn = await startKeyturn(postgresInstance(await postgres.createDatabase()), place)
  const tokens = await tokensOf(keyturn)
  const http = (algorithm: Algorithm): HttpLoad => ({
    kind: 'http',
    url: keyturn.url,
    pids: [keyturn.pid],
    concurrency: CONCURRENCY,
    requests: [
      postRequest(keyturn.url + METHOD, {
        headers: { ...HEADERS, authorization: `Bearer ${tokens[algorithm]}` },
        body: '',
      }),
    ],
    expectedStatus: 200,
    samples: 0,
  })
  const grpc: GrpcLoad = {
    kind: 'grpc',
    url: keyturn.url,
    pids: [keyturn.pid],
    concurrency: CONCURRENCY,
    sessions: SESSIONS,
    path: METHOD,
    authorization: `Bearer ${tokens.ES256}`,
  }
  const turns = await takeTurns(load, effort, {
    'ListWebKeys, gRPC, ES256 token': grpc,
    'ListWebKeys, Connect, ES256 token': http('ES256'),
    'ListWebKeys, Connect, EdDSA token': http('EdDSA'),
    'ListWebKeys, Connect, RS256 token': http('RS256'),
  })
  const keys = (await (await fetch(keyturn.keySetUrl)).json()) as JSONWebKeySet
  const verifications: Row[] = []
  for (const algorithm of ALGORITHMS) {
    const micros = await verificationMicros(tokens[algorithm], keys, effort.window)
    const cells = { 'CPU µs': micros, 'per CPU s': 1e6 / micros }
    verifications.push({ name: `jose.jwtVerify, ${algorithm}`, cells })
  }
  return {
    title: 'API and verification of tokens',
    rows: [...Object.entries(turns).map(([name, own]) => costRow(name, own)), ...verifications],
    targets: [],
    notes: ['Every call is authenticated: the token is verified, the permission looked up, the keys are listed.'],
  }
}

/** A token of each algorithm. All keys stay published, so all tokens stay valid. */
async function tokensOf(keyturn: Keyturn): Promise<Readonly<Record<Algorithm, string>>> {
  const credentials = await keyturn.admin()
  const tokens = { RS256: '', ES256: '', EdDSA: '' }
  for (const algorithm of ALGORITHMS) {
    await new Administrator(keyturn, credentials).signWith(algorithm)
    tokens[algorithm] = await new Administrator(keyturn, credentials).token()
  }
  return tokens
}

/** CPU time of this process, which does nothing else meanwhile, in microseconds for each verification. */
async function verificationMicros(token: string, keys: JSONWebKeySet, seconds: number): Promise<number> {
  const keySet = createLocalJWKSet(keys)
  const verifyFor = async (duration: number) => {
    const until = performance.now() + duration * 1000
    let count = 0
    for (; performance.now() < until; count += 1) await jwtVerify(token, keySet)
    return count
  }
  await verifyFor(seconds / 2)
  const before = process.cpuUsage()
  const count = await verifyFor(seconds)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}
