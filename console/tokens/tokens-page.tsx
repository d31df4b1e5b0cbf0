/**
 * What a token says, which key signed it, and whether it would verify now. The token never leaves the page.
 */
import { useEffect, useState } from 'preact/hooks'
import { formatDistance, formatExactly } from '../format/moment.ts'
import { now } from '../live/clock.ts'
import { instance, version } from '../live/instance.ts'
import { linkTo } from '../navigation/route.ts'
import { Field } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Notice } from '../parts/notice.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { type DecodedToken, decodeToken } from './decoded-token.ts'
import { fetchKeySet, type Verification, verifyToken } from './verification.ts'

export function TokensPage() {
  const [text, setText] = useState('')
  const token = decodeToken(text)
  return (
    <>
      <PageHeading title="Tokens" />
      <p class="summary">
        Paste an access token to see what it says. It is decoded and verified here and sent nowhere.
      </p>
      <section class="card" aria-label="Token">
        <Field label="Access token">
          {(id) => (
            <textarea
              id={id}
              rows={5}
              spellcheck={false}
              autocomplete="off"
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          )}
        </Field>
      </section>
      <div class="stack" aria-live="polite">
        {text.trim() !== '' && token === undefined && (
          <Notice kind="warning">
            <p>
              {/^ktn_/.test(text.trim())
                ? 'This is no JWT but a secret of Keyturn, which says nothing about itself.'
                : 'This is no JWT: three parts in base64url between dots.'}
            </p>
          </Notice>
        )}
        {token !== undefined && (
          <>
            <VerificationCard token={token} />
            <ClaimsCard token={token} />
          </>
        )}
      </div>
    </>
  )
}

function VerificationCard({ token }: { readonly token: DecodedToken }) {
  const found = useVerification(token)
  const { kid, alg } = token.header
  return (
    <section class="card" aria-labelledby="verification-title">
      <div class="card-head">
        <h2 id="verification-title">Would it verify now?</h2>
        {found.kind === 'done' && (
          <span class={found.verification.isValid ? 'badge is-success' : 'badge is-danger'}>
            {found.verification.isValid ? 'yes' : 'no'}
          </span>
        )}
      </div>
      {found.kind === 'failed' && (
        <Notice kind="danger">
          <p>{found.message}</p>
        </Notice>
      )}
      {found.kind === 'done' && (
        <ul class="checks">
          {found.verification.checks.map(({ name, passed, says }) => (
            <li key={name} class={passed ? 'is-passed' : 'is-failed'}>
              <Icon name={passed ? 'check' : 'close'} />
              <span>
                <span class="unseen">{passed ? 'Passed: ' : 'Failed: '}</span>
                <strong>{name}</strong> {says}
              </span>
            </li>
          ))}
        </ul>
      )}
      <p class="hint">
        Signed with {text(alg)} by the key <a href={linkTo(['keys'])}>{text(kid)}</a>. A verifier also checks the
        audience, and only introspection knows whether the token was revoked.
      </p>
    </section>
  )
}

type Found =
  | { readonly kind: 'running' }
  | { readonly kind: 'done'; readonly verification: Verification }
  | { readonly kind: 'failed'; readonly message: string }

const RUNNING: Found = { kind: 'running' }

/** Verifies again when keys change, and when the token expires. */
function useVerification(token: DecodedToken): Found {
  const [{ text, found }, setFound] = useState<{ text: string; found: Found }>({ text: token.text, found: RUNNING })
  const { exp } = token.claims
  const isExpired = typeof exp === 'number' && now.value >= exp * 1000
  const issuer = instance.value?.issuer
  const current = version.value
  // The token is decoded anew each time.
  useEffect(() => {
    let isOver = false
    const verify = async (): Promise<Found> => {
      if (issuer === undefined) return RUNNING
      // Browsers offer it on https and on the own machine only.
      if (crypto.subtle === undefined)
        return { kind: 'failed', message: 'The browser verifies nothing on a page without https.' }
      const keys = await fetchKeySet()
      return { kind: 'done', verification: await verifyToken(token, { keys, issuer, now: now.value }) }
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
  }, [token.text, issuer, current, isExpired])
  return text === token.text ? found : RUNNING
}

const MOMENTS = ['exp', 'iat', 'nbf', 'auth_time']

function ClaimsCard({ token: { header, claims } }: { readonly token: DecodedToken }) {
  return (
    <section class="card" aria-labelledby="claims-title">
      <div class="two-columns">
        <div>
          <h2 id="claims-title">Claims</h2>
          <Members of={claims} />
        </div>
        <div>
          <h2>Header</h2>
          <Members of={header} />
        </div>
      </div>
    </section>
  )
}

function Members({ of: members }: { readonly of: Readonly<Record<string, unknown>> }) {
  return (
    <dl class="facts claims">
      {Object.entries(members).map(([name, value]) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>
            {MOMENTS.includes(name) && typeof value === 'number' ? (
              <>
                {formatExactly(value * 1000)} <span class="quiet">({formatDistance(value * 1000, now.value)})</span>
              </>
            ) : (
              <code>{text(value)}</code>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 1) ?? 'none')
}
