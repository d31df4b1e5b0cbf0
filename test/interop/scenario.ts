/**
 * One server whose keys rotate as is recommended, and all verifiers beside it, which know nothing of that.
 *
 * Each token is verified by every verifier when it is new, when half its life is over, and shortly before it expires. After
 * the rotation keys are revoked, which is the one case in which a key signs that no verifier can know.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { EcdsaCurve, RsaBits, RsaHasher } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { type Administration, administrationOf } from '../support/administration.ts'
import { eventually } from '../support/eventually.ts'
import { type Keyturn, requestToken } from '../support/keyturn.ts'
import { Ledger, type Tallies } from './ledger.ts'
import { CACHE_SECONDS } from './surroundings.ts'
import { startVerifier, type VerifierProcess } from './verifier-process.ts'
import { KEYS, type KeyName, type KeyState, type Verifier } from './verifiers.ts'

/**
 * How long a token lives, in seconds: longer than a rotation takes here, so that some outlive the activity of their key; and three times
 * as long as it is looked whether a revoked key is still trusted.
 */
const TOKEN_LIFETIME_SECONDS = 24
/** The settings of the server. */
export const SETTINGS = {
  KEYTURN_JWKS_MAX_AGE: String(CACHE_SECONDS),
  KEYTURN_TOKEN_LIFETIME: String(TOKEN_LIFETIME_SECONDS),
  // So the server says when a key has been published for long enough.
  KEYTURN_ACTIVATION_GUARD: 'enforce',
  KEYTURN_LOG_LEVEL: 'warn',
}

/** Between one token and the next, in milliseconds. */
const TOKEN_INTERVAL = 400
/** How many tokens of a key all verifiers are asked about before the next one takes over. */
const TOKENS_PER_KEY = 6
/** The last verification of a token begins so long before it expires, in milliseconds. */
const BEFORE_EXPIRY = 1_500
/** How long to look whether a revoked key is still trusted, and whether an unknown one becomes known, in cache times. */
const PATIENCE_CACHE_TIMES = 4
/** Between two looks, in milliseconds, and how many there are at least. A machine that stops for seconds looks less often. */
const LOOK_INTERVAL = 100
const LEAST_LOOKS = 20

const CONFIGS = {
  'RS256 again': { case: 'rsa', value: { bits: RsaBits.RSA_BITS_2048, hasher: RsaHasher.SHA256 } },
  ES256: { case: 'ecdsa', value: { curve: EcdsaCurve.P256 } },
  EdDSA: { case: 'ed25519', value: {} },
  RS384: { case: 'rsa', value: { bits: RsaBits.RSA_BITS_2048, hasher: RsaHasher.SHA384 } },
} as const

/** In cache times. `unknown`: it could not be looked at, because the verifier refused the key before. */
export type Elapsed = number | 'not in 4' | 'unknown'

/** What came of it for one verifier. */
export interface Outcome {
  readonly tallies: Tallies
  readonly failures: readonly string[]
  /** What it accepted of tokens that nobody may accept. */
  readonly wronglyAccepted: readonly string[]
  /** Whether it ran from before the first rotation until after the last. */
  readonly ranThrough: boolean
  /** From the activation of a key that was never published before until a token of it was accepted. */
  readonly newKeyAcceptedAfter: Elapsed
  /** From the revocation of the active key until a token of it was refused, while no other token came. */
  readonly revokedKeyRefusedAfter: Elapsed
  /** What it printed. */
  readonly output: string
}

const NOTHING_KNOWN = { newKeyAcceptedAfter: 'unknown', revokedKeyRefusedAfter: 'unknown' } as const

interface Running {
  readonly verifier: Verifier
  readonly process: VerifierProcess
  readonly wronglyAccepted: string[]
  newKeyAcceptedAfter: Elapsed
  revokedKeyRefusedAfter: Elapsed
}

interface SigningKey {
  readonly name: KeyName
  state: KeyState
  readonly tokens: TrackedToken[]
}

interface TrackedToken {
  /** All verifiers have been asked about it when it was new. */
  readonly new: Promise<void>
  /** They have been asked for the last time. */
  readonly old: Promise<void>
  readonly expiresAt: number
}

/** Starts the verifiers, rotates, and returns what came of it by the name of the verifier. Stops them all. */
export async function runScenario(
  server: Keyturn,
  { verifiers, folderOf }: { verifiers: readonly Verifier[]; folderOf: (verifier: Verifier) => string },
): Promise<ReadonlyMap<string, Outcome>> {
  const { projects } = await administrationOf(server)
  const audience = (await projects.listProjects({})).projects[0]?.projectId ?? ''
  const starting = verifiers.map(async (verifier): Promise<Running> => {
    const command = await verifier.start({ folder: folderOf(verifier), issuer: server.baseUrl, audience })
    return { verifier, process: await startVerifier(command), ...NOTHING_KNOWN, wronglyAccepted: [] }
  })
  const started = await Promise.allSettled(starting)
  const running = started.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  try {
    for (const each of started) if (each.status === 'rejected') throw each.reason
    const scenario = new Scenario(server, audience, running)
    await scenario.refuseOthers()
    await scenario.rotate()
    await scenario.revoke()
    return await scenario.outcomes()
  } finally {
    await Promise.all(running.map(({ process }) => process.stop()))
  }
}

class Scenario {
  readonly #server: Keyturn
  readonly #scope: string
  readonly #running: readonly Running[]
  readonly #ledger = new Ledger()
  readonly #keys = new Map<string, SigningKey>()

  constructor(server: Keyturn, audience: string, running: readonly Running[]) {
    this.#server = server
    this.#scope = `urn:service:iam:org:project:id:${audience}:aud`
    this.#running = running
  }

  /** Asks about tokens that are no good here. */
  async refuseOthers(): Promise<void> {
    const token = await this.#token()
    const [header, payload = '', signature] = token.split('.')
    const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'somebody else' }
    const others = {
      'with other claims': [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.'),
      'for another audience': await requestToken(await this.#server.admin()),
    }
    await this.#each(async ({ process, wronglyAccepted }) => {
      for (const [what, other] of Object.entries(others)) {
        if ((await process.verify(other)).kind === 'verified') wronglyAccepted.push(what)
      }
    })
  }

  /**
   * Rotates through all keys under load, and deletes each when its last token has expired; the first one, which all verifiers
   * know, only when all have refused an expired token of it.
   */
  async rotate(): Promise<void> {
    const administration = () => administrationOf(this.#server)
    const { webKeys } = (await (await administration()).keys.listWebKeys({})) as { webKeys: { keyId: string }[] }
    let activeId = webKeys[0]?.keyId ?? ''
    let active: SigningKey = { name: 'RS256', state: 'active', tokens: [] }
    this.#keys.set(activeId, active)

    const load = new AbortController()
    const loading = this.#load(load.signal)
    const expiredRefused = this.#refuseExpired(await this.#token())
    const deletions: Promise<void>[] = []
    try {
      await this.#untilKnown(active, loading)
      for (const name of KEYS) {
        if (name === 'RS256') continue
        const next: SigningKey = { name, state: 'active', tokens: [] }
        const [before, beforeId] = [active, activeId]
        activeId = await createAndActivate(await administration(), name, (keyId) => this.#keys.set(keyId, next))
        active = next
        before.state = 'inactive'
        deletions.push(this.#deleteLater(beforeId, before, name === KEYS[1] ? expiredRefused : undefined))
        await this.#untilKnown(active, loading)
      }
    } finally {
      load.abort()
      await loading
      await Promise.all(deletions)
    }
    await Promise.all(active.tokens.map(({ old }) => old))
  }

  /** Asks about a token that has expired until it is refused: libraries allow for clocks that differ. */
  async #refuseExpired(token: string): Promise<void> {
    await delay((decodeJwt(token).exp ?? 0) * 1000 - Date.now())
    await this.#each(async ({ process, wronglyAccepted }) => {
      await eventually(async () => {
        if ((await process.verify(token)).kind === 'verified') throw new Error('still accepted')
      }).catch(() => wronglyAccepted.push('long expired'))
    })
  }

  /** Revokes the active key twice, so that a new one signs at once. Looks at the new key, and then at the old one. */
  async revoke(): Promise<void> {
    // So all copies of the key set are new, and none is fetched again only because it is old.
    const known = await this.#token()
    await this.#each(({ process }) => process.verify(known))
    await this.#revokeActive()
    const since = performance.now()
    const token = await this.#token()
    await this.#each(async (running) => {
      running.newKeyAcceptedAfter = await elapsed({ running, token, since, wanted: 'verified' })
    })

    const old = await this.#token()
    const trusting = new Set<Running>()
    await this.#each(async (running) => {
      if ((await running.process.verify(old)).kind === 'verified') trusting.add(running)
    })
    await this.#revokeActive()
    const revokedAt = performance.now()
    await this.#each(async (running) => {
      if (!trusting.has(running)) return
      running.revokedKeyRefusedAfter = await elapsed({ running, token: old, since: revokedAt, wanted: 'refused' })
    })
  }

  /** What came of it. */
  async outcomes(): Promise<ReadonlyMap<string, Outcome>> {
    const outcomes = this.#running.map(async (running) => {
      const { verifier, process, wronglyAccepted, revokedKeyRefusedAfter, newKeyAcceptedAfter } = running
      const ranThrough = process.isRunning
      const outcome: Outcome = {
        tallies: this.#ledger.of(verifier.name),
        failures: this.#ledger.failures.flatMap(({ verifier: name, failure }) =>
          name === verifier.name ? failure : [],
        ),
        wronglyAccepted,
        ranThrough,
        newKeyAcceptedAfter,
        revokedKeyRefusedAfter,
        output: await process.stop(),
      }
      return [verifier.name, outcome] as const
    })
    return new Map(await Promise.all(outcomes))
  }

  /** Revokes the key that signs. There is no other, so the server makes one, which signs from then on. */
  async #revokeActive(): Promise<void> {
    const { keys } = await administrationOf(this.#server)
    const { kid = '' } = decodeProtectedHeader(await this.#token())
    await keys.revokeWebKey({ keyId: kid })
  }

  /** Gets tokens until it is told to stop, and has each verified. */
  async #load(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#track(await this.#token())
      await delay(TOKEN_INTERVAL)
    }
  }

  #track(token: string): void {
    const { iat = 0, exp = 0 } = decodeJwt(token)
    const { kid = '' } = decodeProtectedHeader(token)
    const key = this.#keys.get(kid)
    if (key === undefined) throw new Error(`${kid} signs, which nobody has activated`)
    const isNew = this.#ask(key, token, exp)
    const old = isNew
      .then(() => delay(((iat + exp) / 2) * 1000 - Date.now()))
      .then(() => this.#ask(key, token, exp))
      .then(() => delay(exp * 1000 - BEFORE_EXPIRY - Date.now()))
      .then(() => this.#ask(key, token, exp))
    key.tokens.push({ new: isNew, old, expiresAt: exp * 1000 })
  }

  /** Asks all verifiers about a token of a key. */
  async #ask(key: SigningKey, token: string, exp: number): Promise<void> {
    const { name, state } = key
    await this.#each(async ({ verifier, process }) => {
      try {
        const verdict = await process.verify(token)
        if (verdict.kind === 'refused' && Date.now() >= exp * 1000) return
        this.#ledger.book(this.#ledger.of(verifier.name)[name][state], verdict)
      } catch (error) {
        this.#ledger.failures.push({ verifier: verifier.name, failure: String(error) })
      }
    })
  }

  /** Waits until all verifiers have been asked about enough tokens of a key. */
  async #untilKnown(key: SigningKey, loading: Promise<void>): Promise<void> {
    const enough = eventually(async () => {
      if (key.tokens.length < TOKENS_PER_KEY) throw new Error(`too few tokens of ${key.name}`)
      await Promise.all(key.tokens.slice(0, TOKENS_PER_KEY).map((token) => token.new))
    })
    await Promise.race([enough, loading.then(() => enough)])
  }

  async #deleteLater(keyId: string, key: SigningKey, notBefore: Promise<void> | undefined): Promise<void> {
    // A request that was under way at the activation may still have brought a token of it.
    const expired = async () => {
      await Promise.all(key.tokens.map(({ old }) => old))
      await delay(Math.max(...key.tokens.map(({ expiresAt }) => expiresAt)) - Date.now())
    }
    await Promise.all([expired(), notBefore])
    const { keys } = await administrationOf(this.#server)
    await keys.deleteWebKey({ keyId })
  }

  async #token(): Promise<string> {
    return await requestToken(await this.#server.admin(), this.#scope)
  }

  async #each(action: (running: Running) => Promise<unknown>): Promise<void> {
    await Promise.all(this.#running.map(action))
  }
}

/** Asks about a token until the verdict is the one that is wanted. */
async function elapsed({
  running,
  token,
  since,
  wanted,
}: {
  running: Running
  token: string
  since: number
  wanted: 'verified' | 'refused'
}): Promise<Elapsed> {
  const expiresAt = (decodeJwt(token).exp ?? 0) * 1000
  for (let looks = 1; ; looks += 1) {
    const cacheTimes = (performance.now() - since) / 1000 / CACHE_SECONDS
    const { kind } = await running.process.verify(token)
    // Nothing follows from a token that is refused for its age.
    if (Date.now() >= expiresAt) return 'unknown'
    if (kind === wanted) return cacheTimes
    if (cacheTimes > PATIENCE_CACHE_TIMES && looks >= LEAST_LOOKS) return 'not in 4'
    await delay(LOOK_INTERVAL)
  }
}

/** Creates a key, and activates it as soon as the server says that verifiers know it. */
async function createAndActivate(
  { keys }: Administration,
  name: Exclude<KeyName, 'RS256'>,
  onCreated: (keyId: string) => void,
): Promise<string> {
  const { webKey } = await keys.createWebKey({ config: { config: CONFIGS[name] } })
  const keyId = webKey?.keyId ?? ''
  onCreated(keyId)
  await eventually(() => keys.activateWebKey({ keyId }))
  return keyId
}
