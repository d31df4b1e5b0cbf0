/**
 * What the access tokens of a user are like, and the revocation of all of them.
 */
import { useState } from 'preact/hooks'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { formatLength, lengthOf } from '../format/moment.ts'
import { tokenLifetime } from '../live/instance.ts'
import { linkTo } from '../navigation/route.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { DurationField } from '../parts/duration-field.tsx'
import { Field, TextField } from '../parts/field.tsx'
import { mayWithUser } from '../session/rights.ts'
import { may } from '../session/session.ts'

export function TokenSettingsSection({ user }: { readonly user: ServiceUser }) {
  const [open, setOpen] = useState<'change' | 'revoke'>()
  const close = () => setOpen(undefined)
  const longest = tokenLifetime.value
  return (
    <section class="card" aria-labelledby="settings-title">
      <div class="card-head">
        <h2 id="settings-title">Access tokens</h2>
        <div class="page-actions">
          {mayWithUser('iam.user.write', user) && (
            <button type="button" class="button" onClick={() => setOpen('change')}>
              Change settings
            </button>
          )}
          {may('iam.user.secret.write') && mayWithUser('iam.user.secret.write', user) && (
            <a class="button" href={linkTo(['tokens'], { user: user.clientId })}>
              Get a token
            </a>
          )}
          {mayWithUser('iam.user.credential.write', user) && (
            <button type="button" class="button" onClick={() => setOpen('revoke')}>
              Revoke all tokens
            </button>
          )}
        </div>
      </div>
      <dl class="facts">
        <div>
          <dt>Lifetime</dt>
          <dd>
            {user.tokenLifetime === undefined
              ? `${formatLength(longest)}, as for all users`
              : formatLength(Math.min(lengthOf(user.tokenLifetime), longest))}
          </dd>
        </div>
        <div>
          <dt>Client credentials grant</dt>
          <dd>{user.clientCredentialsEnabled ? 'enabled' : 'disabled: it gets no tokens'}</dd>
        </div>
        <div>
          <dt>Bound</dt>
          <dd>{boundnessOf(user)}</dd>
        </div>
        <div>
          <dt>Claims of its own</dt>
          <dd>{user.tokenClaims === '' ? 'none' : <code>{user.tokenClaims}</code>}</dd>
        </div>
      </dl>
      {open === 'change' && <ChangeDialog user={user} onClose={close} />}
      {open === 'revoke' && (
        <ConfirmDialog
          title={`Revoke all access tokens of ${user.name}?`}
          verb="Revoke all"
          isDangerous
          onClose={close}
          change={() => serviceUsers.revokeTokens({ userId: user.userId })}
        >
          <p>
            Keyturn's own API and introspection refuse all access tokens that it has got so far. Services that verify
            tokens themselves accept them until they expire, at most {formatLength(longest)} from now.
          </p>
          <p>It can request new ones at once. Its personal access tokens stay.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

function boundnessOf({ boundTokensRequired, certificateBoundTokens }: ServiceUser): string {
  const what = certificateBoundTokens ? 'a key (DPoP) or a certificate' : 'a key (DPoP)'
  return boundTokensRequired ? `always, to ${what}` : `to ${what}, if the request has one`
}

function ChangeDialog({ user: current, onClose }: { readonly user: ServiceUser; readonly onClose: () => void }) {
  // As it was when the form was filled from it, so that what changes elsewhere meanwhile is not taken for a change of the form.
  const [user] = useState(current)
  const longest = tokenLifetime.value / 1000
  const own = user.tokenLifetime === undefined ? undefined : Number(user.tokenLifetime.seconds)
  const [name, setName] = useState(user.name)
  const [hasOwn, setHasOwn] = useState(own !== undefined)
  const [lifetime, setLifetime] = useState(own ?? longest)
  const [grant, setGrant] = useState(user.clientCredentialsEnabled)
  const [isBound, setIsBound] = useState(user.boundTokensRequired)
  const [isCertificateBound, setIsCertificateBound] = useState(user.certificateBoundTokens)
  const [tokenClaims, setTokenClaims] = useState(user.tokenClaims)
  const changes = {
    name: name !== user.name,
    client_credentials_enabled: grant !== user.clientCredentialsEnabled,
    bound_tokens_required: isBound !== user.boundTokensRequired,
    certificate_bound_tokens: isCertificateBound !== user.certificateBoundTokens,
    token_claims: tokenClaims !== user.tokenClaims,
    token_lifetime: hasOwn ? lifetime !== own : own !== undefined,
  }
  const paths = Object.entries(changes).flatMap(([path, isChanged]) => (isChanged ? [path] : []))
  const change = () =>
    serviceUsers.updateServiceUser({
      userId: user.userId,
      name,
      clientCredentialsEnabled: grant,
      boundTokensRequired: isBound,
      certificateBoundTokens: isCertificateBound,
      tokenClaims,
      ...(hasOwn ? { tokenLifetime: { seconds: BigInt(Number.isFinite(lifetime) ? lifetime : 0) } } : {}),
      updateMask: { paths },
    })
  return (
    <ConfirmDialog
      title={`Settings of ${user.name}`}
      verb="Save"
      isIncomplete={paths.length === 0}
      onClose={onClose}
      change={change}
    >
      <TextField label="Name" required maxLength={200} value={name} onChange={setName} />
      <label class="check">
        <input type="checkbox" checked={grant} onChange={({ currentTarget }) => setGrant(currentTarget.checked)} />
        May use the client credentials grant
      </label>
      <label class="check">
        <input type="checkbox" checked={isBound} onChange={({ currentTarget }) => setIsBound(currentTarget.checked)} />
        Only bound tokens: to a key (DPoP) or to a certificate
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={isCertificateBound}
          onChange={({ currentTarget }) => setIsCertificateBound(currentTarget.checked)}
        />
        Tokens are bound to the client certificate of the request
      </label>
      <label class="check">
        <input type="checkbox" checked={hasOwn} onChange={({ currentTarget }) => setHasOwn(currentTarget.checked)} />A
        token lifetime of its own
      </label>
      {hasOwn && <DurationField label="Lifetime of its tokens" seconds={lifetime} onChange={setLifetime} />}
      <Field label="Claims of its own" hint="A JSON object that each of its access tokens has. Empty: none.">
        {(id) => (
          <textarea
            id={id}
            rows={3}
            spellcheck={false}
            value={tokenClaims}
            onInput={({ currentTarget }) => setTokenClaims(currentTarget.value)}
          />
        )}
      </Field>
      <p class="hint">What changes is in the tokens that are issued from then on.</p>
    </ConfirmDialog>
  )
}
