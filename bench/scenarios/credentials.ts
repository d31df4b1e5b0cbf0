/**
 * What a token costs by the credential that gets it, and by its binding, and how much of that is signatures.
 */

import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { authorityOf, certificateOf, type TestCertificate } from '../../test/support/certificates.ts'
import { Administrator, tokenForm } from '../contenders/administrator.ts'
import { type Credentials, SCOPE } from '../contenders/contender.ts'
import { type Keyturn, postgresInstance, startKeyturn } from '../contenders/keyturn.ts'
import type { Place } from '../contenders/references.ts'
import type { Signing } from '../load/job.ts'
import { postRequest } from '../load/requests.ts'
import { placeholderOf, signedOnce } from '../load/signed-requests.ts'
import type { Bench, Result, Row } from './scenario.ts'
import { transactionsPerSecond } from './transactions.ts'
import { type HttpLoad, takeTurns } from './turns.ts'

export const CREDENTIALS_TITLE = 'tokens by credential, ES256'

/** The column of those that are recorded in the database. */
export const TRANSACTIONS = 'database transactions per 1000'

const CONCURRENCY = 16
const ISSUER = 'https://cluster.example'
const SUBJECT = 'system:serviceaccount:shop:checkout'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const CERTIFIED_NAME = 'checkout.shop.example'

/** A kind of request, and how many signatures are verified for it. Each token has one signature besides. */
interface Kind {
  readonly load: HttpLoad
  readonly verifies: 0 | 1
  /** Whether its use is recorded in the database. */
  readonly recorded?: true
}

/** All kinds of token requests, on one instance. */
export async function credentials({ postgres, load, effort }: Bench, place: Place): Promise<Result> {
  const authority = authorityOf('Bench')
  const certified = certificateOf({ issuer: authority, dns: [CERTIFIED_NAME] })
  const registered = certificateOf()
  const caFile = join(place.folder, 'authority.pem')
  await writeFile(caFile, authority.pem)
  // The load generator is the proxy, so TLS is not in the figures.
  const env = { KEYTURN_MTLS: 'client-cert', KEYTURN_MTLS_CA_FILE: caFile, KEYTURN_TRUSTED_PROXIES: '127.0.0.1' }
  const databaseUrl = await postgres.createDatabase()
  const keyturn = await startKeyturn({ ...postgresInstance(databaseUrl), env }, place)
  const administrator = new Administrator(keyturn, await keyturn.admin())
  await administrator.signWith('ES256')
  const [client] = await administrator.createClients('bench', 1)
  if (client === undefined) throw new Error('no client was created')
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicJwk = pair.publicKey.export({ format: 'jwk' })
  await administrator.addKey(client, publicJwk)
  await administrator.federate(client, { issuer: ISSUER, subject: SUBJECT, publicJwk })
  await administrator.certify(client, { sanDns: CERTIFIED_NAME, thumbprint: registered.thumbprint })

  const kinds = kindsOf(keyturn, client, { ...pair, certified, registered })
  const turns = await takeTurns(
    load,
    effort,
    Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, kind.load])),
  )
  const transactions = new Map<string, number>()
  for (const [name, kind] of Object.entries(kinds)) {
    if (kind.recorded !== true) continue
    let tokens = 0
    const perSecond = await transactionsPerSecond(postgres, databaseUrl, async () => {
      const measured = await load.measure({ ...kind.load, warmUpSeconds: 0, seconds: effort.quiet })
      tokens = measured.answers / measured.seconds
    })
    transactions.set(name, (perSecond / tokens) * 1000)
  }
  const costs = signatureCosts(pair)
  const rows = Object.entries(kinds).map(([name, { verifies }]): Row => {
    const own = turns[name]
    if (own === undefined) throw new Error(`${name} had no turn`)
    const signatures = costs.sign + verifies * costs.verify
    return {
      name,
      cells: {
        'CPU µs': own.cpuMicros.median,
        min: own.cpuMicros.min,
        max: own.cpuMicros.max,
        'per CPU s': 1e6 / own.cpuMicros.median,
        'per s': own.answersPerSecond.median,
        'signatures µs': signatures,
        'of limit %': (100 * signatures) / own.cpuMicros.median,
        [TRANSACTIONS]: transactions.get(name) ?? '',
        errors: own.errors,
      },
    }
  })
  const errors = Object.entries(turns).flatMap(([name, { firstError }]) =>
    firstError === null ? [] : [`${name}: ${firstError}`],
  )
  const { sign: signs, verify: verifies } = costs
  const note = `node:crypto signs with ES256 in ${signs.toFixed(0)} µs and verifies in ${verifies.toFixed(0)} µs here.`
  return { title: CREDENTIALS_TITLE, rows, targets: [], notes: [note, ...errors] }
}

/** What the client has. */
interface Keys {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** By an authority that Keyturn trusts. */
  readonly certified: TestCertificate
  /** Signed by itself, and known to Keyturn. */
  readonly registered: TestCertificate
}

function kindsOf(
  keyturn: Keyturn,
  client: Credentials,
  { privateKey, publicKey, certified, registered }: Keys,
): Readonly<Record<string, Kind>> {
  const { issuer, tokenUrl } = keyturn
  const privateJwk = { ...privateKey.export({ format: 'jwk' }) }
  const loadOf = (requests: readonly string[], signing?: Signing): HttpLoad => ({
    kind: 'http',
    url: keyturn.url,
    pids: keyturn.pids(),
    concurrency: CONCURRENCY,
    requests,
    expectedStatus: 200,
    samples: 0,
    ...(signing === undefined ? {} : { signing }),
  })
  const asserting = (assertion: string) =>
    String(
      new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: ASSERTION_TYPE,
        client_assertion: assertion,
        scope: SCOPE,
      }),
    )
  const assertion: Signing = {
    header: {},
    claims: { iss: client.clientId, sub: client.clientId, aud: issuer },
    privateJwk,
  }
  const proof: Signing = {
    header: { typ: 'dpop+jwt', jwk: publicKey.export({ format: 'jwk' }) },
    claims: { htm: 'POST', htu: `${issuer}/oauth/v2/token` },
    privateJwk,
  }
  const federated: Signing = { header: {}, claims: { iss: ISSUER, sub: SUBJECT, aud: issuer }, privateJwk }
  const secret = tokenForm(client)
  const post = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    postRequest(tokenUrl, { headers: { ...FORM, ...headers }, body })
  const unauthenticated = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client.clientId,
    scope: SCOPE,
  })
  const certificateRequest = ({ der }: TestCertificate) =>
    post(String(unauthenticated), { 'client-cert': `:${der.toString('base64')}:` })
  return {
    'client secret': { load: loadOf([post(secret)]), verifies: 0 },
    // A request that is not plain.
    'client secret, through oidc-provider': {
      load: loadOf([post(`${secret}&${new URLSearchParams({ resource: issuer })}`)]),
      verifies: 0,
    },
    private_key_jwt: {
      // The placeholder is not encoded, and a JWT needs no encoding.
      load: loadOf(
        [post(asserting('').replace('client_assertion=&', `client_assertion=${placeholderOf(assertion)}&`))],
        assertion,
      ),
      verifies: 1,
      recorded: true,
    },
    'federated JWT': { load: loadOf([post(asserting(signedOnce(federated)))]), verifies: 1 },
    'client certificate, bound': { load: loadOf([certificateRequest(registered)]), verifies: 0 },
    'client certificate of an authority, bound': { load: loadOf([certificateRequest(certified)]), verifies: 1 },
    'client secret, DPoP': {
      load: loadOf([post(secret, { dpop: placeholderOf(proof) })], proof),
      verifies: 1,
      recorded: true,
    },
  }
}

/** What one signature and one verification cost, in microseconds of CPU time. */
function signatureCosts({ privateKey, publicKey }: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }) {
  const data = Buffer.alloc(400, 'x')
  const signature = sign('sha256', data, privateKey)
  return {
    sign: microsOf(() => sign('sha256', data, privateKey)),
    verify: microsOf(() => verify('sha256', data, publicKey, signature)),
  }
}

function microsOf(work: () => unknown): number {
  const times = 5_000
  for (let time = 0; time < times; time += 1) work()
  const before = process.cpuUsage()
  for (let time = 0; time < times; time += 1) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / times
}
