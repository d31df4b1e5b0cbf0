/**
 * The token endpoint: what a token costs, how many there are in a second, how long one takes at half of that.
 */
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { tokenForm } from '../contenders/administrator.ts'
import type { Algorithm, Contender } from '../contenders/contender.ts'
import { postgresInstance, startKeyturnContender } from '../contenders/keyturn.ts'
import { type Place, startFloor, startOidcProvider } from '../contenders/references.ts'
import type { Measurement } from '../load/job.ts'
import { postRequest } from '../load/requests.ts'
import { residentMegabytesOf, sharedMegabytesOf } from '../processes/usage.ts'
import { memoryTarget, togetherTarget } from './rows.ts'
import type { Bench, Result, Row, Target } from './scenario.ts'
import { cpuRatio, type HttpLoad, type Turns, takeTurns } from './turns.ts'

/** Enough to keep a server busy, and few enough to be answered in a few milliseconds. */
const CONCURRENCY = 16
/** Tokens of each turn that are verified. */
const SAMPLES = 5

/** The contender that most targets are about. */
export const ON_POSTGRES = 'Keyturn, PostgreSQL'
/** Its memory counts together with that of its database. */
const EMBEDDED = 'Keyturn, embedded'
const WITHOUT_LOG = 'Keyturn, no request log'

/** The title of the results for an algorithm. */
export function tokensTitle(algorithm: Algorithm): string {
  return `tokens, ${algorithm}`
}

/** One algorithm, all contenders. */
export async function tokens(algorithm: Algorithm, bench: Bench, place: Place): Promise<Result> {
  const { load, effort } = bench
  const contenders = await start(algorithm, bench, place)
  const loads = Object.fromEntries(contenders.map((contender) => [contender.name, tokenLoad(contender)]))
  const turns = await takeTurns(load, effort, loads)

  // Right after the load: what is idle for a while gives memory back.
  const memory = contenders.map(({ pids }) => residentMegabytesOf(pids))
  const together = contenders.map(({ pids }) => sharedMegabytesOf(pids))
  const halfLoads = contenders.map((contender): [string, HttpLoad] => {
    const ratePerSecond = (turns[contender.name] as Turns).answersPerSecond.median / 2
    return [contender.name, { ...tokenLoad(contender), ratePerSecond }]
  })
  const half = await takeTurns(
    load,
    { ...effort, firstWarmUp: 0, rounds: effort.roundsAtHalfLoad },
    Object.fromEntries(halfLoads),
  )

  const rows: Row[] = []
  const targets = targetsOf(algorithm, turns)
  for (const [index, contender] of contenders.entries()) {
    const megabytes = memory[index] ?? Number.NaN
    const own = turns[contender.name] as Turns
    const verified = await verify(contender, own.measurements)
    rows.push({
      name: contender.name,
      cells: cellsOf(own, { verified, half: half[contender.name] as Turns, megabytes }),
    })
    if (contender.name === ON_POSTGRES) targets.push(memoryTarget(`${ON_POSTGRES}, ${algorithm}`, megabytes))
    if (contender.name === EMBEDDED) targets.push(togetherTarget(algorithm, together[index] ?? Number.NaN))
  }
  const notes = contenders.flatMap(({ name }) => {
    const { firstError } = turns[name] as Turns
    return firstError === null ? [] : [`${name}: ${firstError}`]
  })
  return { title: tokensTitle(algorithm), rows, targets, notes }
}

/** The load of token requests on an issuer. */
export function tokenLoad(contender: Pick<Contender, 'url' | 'tokenUrl' | 'pids' | 'clients'>): HttpLoad {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return {
    kind: 'http',
    url: contender.url,
    pids: contender.pids,
    concurrency: CONCURRENCY,
    requests: contender.clients.map((client) => postRequest(contender.tokenUrl, { headers, body: tokenForm(client) })),
    expectedStatus: 200,
    samples: SAMPLES,
  }
}

async function start(algorithm: Algorithm, { postgres }: Bench, place: Place): Promise<readonly Contender[]> {
  const keyturn = async (name: string, env: Readonly<Record<string, string>> = {}) => {
    const settings = { ...postgresInstance(await postgres.createDatabase()), env }
    return startKeyturnContender(name, algorithm, { settings, place })
  }
  return [
    await keyturn(ON_POSTGRES),
    await startKeyturnContender(EMBEDDED, algorithm, { settings: {}, place }),
    await keyturn(WITHOUT_LOG, { KEYTURN_LOG_LEVEL: 'warn' }),
    await startOidcProvider(algorithm, place),
    await startFloor(algorithm, place),
  ]
}

/** Verifies what came back as a client of the issuer would, and returns how many tokens that were. @throws if one is not valid. */
async function verify(contender: Contender, measurements: readonly Measurement[]): Promise<number> {
  const keySet = createRemoteJWKSet(new URL(contender.keySetUrl))
  const samples = measurements.flatMap((measurement) => measurement.samples)
  for (const sample of samples) {
    const { access_token: token } = JSON.parse(sample) as { access_token: string }
    const { payload } = await jwtVerify(token, keySet, {
      issuer: contender.issuer,
      audience: contender.issuer,
      typ: 'at+jwt',
      requiredClaims: ['sub', 'exp', 'iat', 'jti', 'client_id', 'scope'],
    })
    if (!contender.clients.some(({ clientId }) => clientId === payload.client_id)) {
      throw new Error(`${contender.name} made a token for ${payload.client_id}, which did not ask for one`)
    }
  }
  return samples.length
}

function cellsOf(
  { cpuMicros, answersPerSecond, generatorLoad, errors }: Turns,
  { verified, half, megabytes }: { readonly verified: number; readonly half: Turns; readonly megabytes: number },
): Row['cells'] {
  return {
    'CPU µs': cpuMicros.median,
    min: cpuMicros.min,
    max: cpuMicros.max,
    'per CPU s': 1e6 / cpuMicros.median,
    'per s': answersPerSecond.median,
    'p50 ms': half.latency.p50,
    'p99 ms': half.latency.p99,
    'RSS MB': megabytes,
    errors: errors + half.errors,
    verified,
    'load CPU': generatorLoad.median,
  }
}

function targetsOf(algorithm: Algorithm, turns: Readonly<Record<string, Turns>>): Target[] {
  const ratio = (of: string, to: string) => cpuRatio(turns[of] as Turns, turns[to] as Turns)
  const target = (name: string, to: string, atMost: number): Target[] =>
    [ON_POSTGRES, WITHOUT_LOG].map((of) => ({
      name: `${algorithm}: ${of}, CPU per token / ${name}`,
      limit: { atMost },
      unit: '×',
      measured: ratio(of, to),
    }))
  if (algorithm === 'RS256') return target('the floor', 'floor', 1.15)
  return [...target('oidc-provider', 'oidc-provider', 0.7), ...target('the floor', 'floor', 1.6)]
}
