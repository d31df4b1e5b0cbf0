/**
 * Whether a token would verify now, at a verifier and at Keyturn, and which key signed it.
 */
import { type CallOptions, Code, ConnectError } from '@connectrpc/connect'
import { serviceUsers } from '../api/clients.ts'
import { failureOf } from '../api/failure.ts'
import { shortened } from '../format/text.ts'
import { instance, now } from '../live/instance.ts'
import { type Loaded, useLoaded } from '../live/loaded.ts'
import { linkTo } from '../navigation/route.ts'
import { Icon } from '../parts/buttons.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Badge, CardSection, Notice, type State, sentence } from '../parts/page.tsx'
import { type Check, type DecodedToken, fetchKeySet, textOf, type Verification, verifyToken } from './verification.ts'

/** What was found about a token. */
interface Found {
  readonly verification: Verification
  /**
   * What Keyturn knows about it that no verifier can see: whether it was revoked, or its user disabled. Undefined: Keyturn was not asked. A
   * text: why it did not answer.
   */
  readonly introspection: Check | string | undefined
}

export function VerificationCard({ token }: { readonly token: DecodedToken }) {
  const loaded = useVerification(token)
  const found = loaded.value
  const { kid, alg } = token.header
  return (
    <CardSection title="Would it verify now?" actions={found !== undefined && <Badge {...verdictOf(found)} />}>
      <LoadedView loaded={loaded}>
        {(value) => (
          <>
            <ul class="checks">
              {checksOf(value).map(({ name, passed, says }) => (
                <li key={name} class={passed ? 'is-passed' : 'is-failed'}>
                  <Icon name={passed ? 'check' : 'close'} />
                  <span>
                    <span class="unseen">{passed ? 'Passed: ' : 'Failed: '}</span>
                    <strong>{name}</strong> {says}
                  </span>
                </li>
              ))}
            </ul>
            <Remark {...value} />
          </>
        )}
      </LoadedView>
      <p class="hint">
        Signed with {textOf(alg)} by the key{' '}
        <a href={linkTo(['keys'])} title={textOf(kid)}>
          {shortened(textOf(kid))}
        </a>{' '}
        – a verifier also checks that the audience is its own.
      </p>
    </CardSection>
  )
}

/** Those of a verifier, and what Keyturn says. */
function checksOf({ verification: { checks }, introspection }: Found): readonly Check[] {
  return typeof introspection === 'object' ? [...checks, introspection] : checks
}

async function introspect(token: string, options: CallOptions): Promise<Check | string> {
  try {
    const { active, reason } = await serviceUsers.introspectToken({ token }, options)
    const says = active ? 'says that it is active: not revoked, and its user is enabled' : `refuses it: ${reason}`
    return { name: 'Keyturn', passed: active, says }
  } catch (error) {
    return failureOf(error).message
  }
}

function verdictOf({ verification, introspection }: Found): State {
  if (!verification.isValid) return { text: 'no', tone: 'danger' }
  if (typeof introspection === 'object' && !introspection.passed) return { text: 'not at Keyturn', tone: 'warning' }
  return { text: 'yes', tone: 'success' }
}

/** What the checks leave open. */
function Remark({ introspection }: Found) {
  if (introspection === undefined)
    return <p class="hint">Keyturn was not asked: a token that fails here is sent nowhere.</p>
  if (typeof introspection === 'object' && introspection.passed) return null
  return (
    <Notice kind="warning">
      {typeof introspection === 'string'
        ? `Whether it was revoked, or its user disabled, is not known. ${sentence(introspection)}`
        : "Keyturn's own API and introspection refuse it. Services that verify tokens themselves accept it until it expires."}
    </Notice>
  )
}

/** Verifies again when the instance changes, and when the token begins and ends. */
function useVerification(token: DecodedToken): Loaded<Found> {
  const { exp, nbf } = token.claims
  const hasCome = (at: unknown) => typeof at === 'number' && now.value >= at * 1000
  const issuer = instance.value?.issuer
  return useLoaded(`token ${token.text} ${issuer} ${hasCome(exp)} ${hasCome(nbf)}`, async (options) => {
    if (issuer === undefined) throw new ConnectError('the issuer of this instance is not known', Code.Aborted)
    // Browsers offer it on https and on the own machine only.
    if (crypto.subtle === undefined)
      throw new ConnectError('the browser verifies nothing on a page without https', Code.FailedPrecondition)
    const keys = await fetchKeySet().catch(() => {
      throw new ConnectError('the key set could not be fetched', Code.Aborted)
    })
    const verification = await verifyToken(token, { keys, issuer, now: now.value })
    return { verification, introspection: verification.isValid ? await introspect(token.text, options) : undefined }
  })
}
