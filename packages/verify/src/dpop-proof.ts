/**
 * Checks that the sender of a request has the key to which its token is bound (DPoP, RFC 9449 §4.3 and §7).
 *
 * There are no nonces here: a proof is good for a minute before and after its `iat`, and once.
 */
import { calculateJwkThumbprint, EmbeddedJWK, errors, jwtVerify } from 'jose'
import { type Runtime, sha256 } from './discovery.ts'

export interface DpopOptions {
  /** The origin under which clients know the service, such as `https://orders.example.com`, also behind a proxy. */
  readonly origin: string
  /**
   * Marks a proof as used until a time, in all processes of the service, and returns whether this was its first use. Default: in the
   * memory of this process, so that another process would accept the same proof. There it has room for 100 000 proofs in two minutes;
   * further ones are refused.
   */
  readonly useOnce?: ((id: string, expiresAt: Date) => boolean | Promise<boolean>) | undefined
}

/** In DER or PEM; of a PEM text with several the first one counts. Undefined or null: there is none. */
export type ClientCertificate = Uint8Array | string | null | undefined

export interface ProvedRequest {
  readonly proof: string | readonly string[] | null | undefined
  readonly method: string
  /** The path as the client sent it, or a URL whose origin is ignored. */
  readonly url: string
  /** Reads the certificate of the client, which a token may be bound to (RFC 8705). Default: there is none. */
  readonly certificate?: (() => ClientCertificate) | undefined
}

/** A proof that is not good. The message is for the client. */
export class ProofProblem extends Error {
  override readonly name = 'ProofProblem'
  /** `invalid_token`: the token is bound to another key than that of the proof (RFC 9449 §7.1). */
  readonly code: 'invalid_dpop_proof' | 'invalid_token'

  constructor(message: string, code: ProofProblem['code'] = 'invalid_dpop_proof', cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** The algorithms of proofs: asymmetric ones only, and no PKCS #1 v1.5 (FAPI 2.0 Security Profile §5.4.1). */
export const PROOF_ALGORITHMS = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'PS384', 'PS512']
/** FAPI 2.0 Security Profile §5.3.2.1 allows 10 to 60. */
const CLOCK_TOLERANCE_SECONDS = 60
/** Bounds the work for a proof before it is parsed. */
const MAX_PROOF_LENGTH = 4096
const MAX_ID_LENGTH = 200
/** Used proofs that are remembered: 800 requests per second for two minutes, about 20 MB. */
const MAX_USED = 100_000

/**
 * Checks the proof of a request. The thumbprint is `cnf.jkt` of the token.
 *
 * @throws {ProofProblem} if it is not good for the request and the token, or was used before.
 */
export type ProofCheck = (
  request: ProvedRequest,
  token: { readonly accessToken: string; readonly thumbprint: string },
) => Promise<void>

/** @throws {TypeError} if the origin is none. */
export function createProofCheck(options: DpopOptions, runtime: Runtime): ProofCheck {
  const { origin } = options
  if (!URL.canParse(origin) || new URL(origin).origin !== origin)
    throw new TypeError('dpop.origin must be the origin of the service, such as https://orders.example.com')
  const { useOnce = usedInMemory(runtime) } = options

  return async ({ proof, method, url }, { accessToken, thumbprint }) => {
    if (typeof proof !== 'string' || proof === '') throw new ProofProblem('one DPoP proof is required')
    if (proof.length > MAX_PROOF_LENGTH) throw new ProofProblem('the DPoP proof is too long')
    const { claims, keyThumbprint } = await verified(proof, runtime)
    const { jti, htm, htu, iat, ath } = claims
    if (typeof jti !== 'string' || jti === '' || jti.length > MAX_ID_LENGTH)
      throw new ProofProblem('jti of the DPoP proof must be a short text')
    if (htm !== method) throw new ProofProblem('htm of the DPoP proof must be the method')
    if (typeof htu !== 'string' || !URL.canParse(htu) || withoutQuery(htu) !== addressOf(url, origin))
      throw new ProofProblem('htu of the DPoP proof must be the address')
    if (typeof iat !== 'number' || Math.abs(iat * 1000 - runtime.now()) > CLOCK_TOLERANCE_SECONDS * 1000)
      throw new ProofProblem('iat of the DPoP proof must be now')
    if (ath !== (await sha256(accessToken))) throw new ProofProblem('ath of the DPoP proof must be of the access token')
    if (keyThumbprint !== thumbprint)
      throw new ProofProblem('the access token is bound to another key', 'invalid_token')
    const id = await sha256(JSON.stringify([keyThumbprint, jti]))
    if (!(await useOnce(id, new Date(runtime.now() + 2 * CLOCK_TOLERANCE_SECONDS * 1000))))
      throw new ProofProblem('the DPoP proof has been used before')
  }
}

async function verified(proof: string, runtime: Runtime) {
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: PROOF_ALGORITHMS,
      typ: 'dpop+jwt',
      currentDate: new Date(runtime.now()),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    })
    return { claims: payload, keyThumbprint: await calculateJwkThumbprint(protectedHeader.jwk ?? {}) }
  } catch (cause) {
    if (!(cause instanceof errors.JOSEError)) throw cause
    throw new ProofProblem('the DPoP proof is not valid', undefined, cause)
  }
}

/** What a client must name: of a URL the path alone, because the host in a request is its sender's word. */
function addressOf(url: string, origin: string): string {
  const { pathname } = new URL(url.startsWith('/') ? origin + url : url)
  return withoutQuery(origin + pathname)
}

function withoutQuery(address: string): string {
  const url = new URL(address)
  url.search = ''
  url.hash = ''
  return url.href
}

/** Marks proofs as used in the memory of this process. @throws {ProofProblem} if there is no room for another one. */
export function usedInMemory(runtime: Pick<Runtime, 'now'>): NonNullable<DpopOptions['useOnce']> {
  /** In the order of their expiry, which is that of their use. */
  const used = new Map<string, number>()
  return (id, expiresAt) => {
    const now = runtime.now()
    for (const [old, end] of used) {
      if (end > now) break
      used.delete(old)
    }
    if (used.has(id)) return false
    // Forgetting one would let it be used again.
    if (used.size >= MAX_USED) throw new ProofProblem('too many DPoP proofs are remembered: try again in a minute')
    used.set(id, expiresAt.getTime())
    return true
  }
}
