/**
 * Whether a token would verify now, at a verifier and at Keyturn, and which key signed it.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { IN_BACKGROUND } from '../api/clients.ts'
import { shortened } from '../format/shortened.ts'
import { now } from '../live/clock.ts'
import { instance, version } from '../live/instance.ts'
import { linkTo } from '../navigation/route.ts'
import { Icon } from '../parts/icon.tsx'
import { Notice, sentence } from '../parts/notice.tsx'
import { type DecodedToken, textOf } from './decoded-token.ts'
import { type Introspection, introspect } from './introspection.ts'
import { fetchKeySet, type Verification, verifyToken } from './verification.ts'

export function VerificationCard({ token }: { readonly token: DecodedToken }) {
  const found = useVerification(token)
  const { kid, alg } = token.header
  return (
    <section class="card" aria-labelledby="verification-title">
      <div class="card-head">
        <h2 id="verification-title">Would it verify now?</h2>
        {found.kind === 'done' && <Verdict {...found} />}
      </div>
      {found.kind === 'failed' && (
        <Notice kind="danger">
          <p>{found.message}</p>
        </Notice>
      )}
      {found.kind === 'done' && (
        <ul class="checks">
          {found.verification.checks.map(({ name, passed, says }) => (
            <CheckItem key={name} name={name} passed={passed} says={says} />
          ))}
          {found.introspection?.kind === 'active' && (
            <CheckItem name="Keyturn" passed says="says that it is active: not revoked, and its user is enabled" />
          )}
          {found.introspection?.kind === 'inactive' && (
            <CheckItem name="Keyturn" passed={false} says={`refuses it: ${found.introspection.reason}`} />
          )}
        </ul>
      )}
      {found.kind === 'done' && <Remark {...found} />}
      <p class="hint">
        Signed with {textOf(alg)} by the key{' '}
        <a href={linkTo(['keys'])} title={textOf(kid)}>
          {shortened(textOf(kid))}
        </a>{' '}
        – a verifier also checks that the audience is its own.
      </p>
    </section>
  )
}

function CheckItem({ name, passed, says }: { readonly name: string; readonly passed: boolean; readonly says: string }) {
  return (
    <li class={passed ? 'is-passed' : 'is-failed'}>
      <Icon name={passed ? 'check' : 'close'} />
      <span>
        <span class="unseen">{passed ? 'Passed: ' : 'Failed: '}</span>
        <strong>{name}</strong> {says}
      </span>
    </li>
  )
}

type Done = Extract<Found, { readonly kind: 'done' }>

function Verdict({ verification, introspection }: Done) {
  if (!verification.isValid) return <span class="badge is-danger">no</span>
  if (introspection?.kind === 'inactive') return <span class="badge is-warning">not at Keyturn</span>
  return <span class="badge is-success">yes</span>
}

/** What the checks leave open. */
function Remark({ verification, introspection }: Done) {
  if (!verification.isValid) return <p class="hint">Keyturn was not asked: a token that fails here is sent nowhere.</p>
  switch (introspection?.kind) {
    case 'active':
      return null
    case 'inactive':
      return (
        <Notice kind="warning">
          <p>
            Keyturn's own API and introspection refuse it. Services that verify tokens themselves accept it until it
            expires.
          </p>
        </Notice>
      )
    default:
      return (
        <Notice kind="warning">
          <p>
            Whether it was revoked, or its user disabled, is not known.{' '}
            {introspection !== undefined && sentence(introspection.message)}
          </p>
        </Notice>
      )
  }
}

type Found =
  | { readonly kind: 'running' }
  | {
      readonly kind: 'done'
      readonly verification: Verification
      /** Undefined: Keyturn was not asked. */
      readonly introspection: Introspection | undefined
    }
  | { readonly kind: 'failed'; readonly message: string }

const RUNNING: Found = { kind: 'running' }

/** Verifies again when the instance changes, and when the token begins and ends. */
function useVerification(token: DecodedToken): Found {
  const [{ text, found }, setFound] = useState<{ text: string; found: Found }>({ text: token.text, found: RUNNING })
  const { exp, nbf } = token.claims
  const hasCome = (at: unknown) => typeof at === 'number' && now.value >= at * 1000
  const [isExpired, isBegun] = [hasCome(exp), hasCome(nbf)]
  const issuer = instance.value?.issuer
  const current = version.value
  const lastText = useRef('')
  // The token is decoded anew each time.
  useEffect(() => {
    let isOver = false
    const options = lastText.current === token.text ? IN_BACKGROUND : {}
    lastText.current = token.text
    const verify = async (): Promise<Found> => {
      if (issuer === undefined) return RUNNING
      // Browsers offer it on https and on the own machine only.
      if (crypto.subtle === undefined)
        return { kind: 'failed', message: 'The browser verifies nothing on a page without https.' }
      const keys = await fetchKeySet()
      const verification = await verifyToken(token, { keys, issuer, now: now.value })
      return {
        kind: 'done',
        verification,
        introspection: verification.isValid && !isOver ? await introspect(token.text, options) : undefined,
      }
    }
    const failed = (): Found => ({ kind: 'failed', message: 'The key set could not be fetched.' })
    void verify()
      .catch(failed)
      .then((next) => {
        if (!isOver) setFound({ text: token.text, found: next })
      })
    return () => {
      isOver = true
    }
  }, [token.text, issuer, current, isExpired, isBegun])
  return text === token.text ? found : RUNNING
}
