/**
 * What the access tokens of a user are like, and the revocation of all of them.
 */
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { formatLength, lengthOf } from '../format/text.ts'
import { tokenLifetime } from '../live/instance.ts'
import { linkTo } from '../navigation/route.ts'
import { ConfirmButton, ConfirmDialog, DialogButton } from '../parts/dialogs.tsx'
import { CheckField, DurationField, LongTextField, TextField, useDraft } from '../parts/fields.tsx'
import { CardSection, Fact } from '../parts/page.tsx'
import { may, mayWithUser } from '../session/session.ts'

export function TokenSettingsSection({ user }: { readonly user: ServiceUser }) {
  const longest = tokenLifetime.value
  return (
    <CardSection title="Access tokens" actions={<Actions user={user} />}>
      <dl class="facts">
        <Fact name="Lifetime">
          {user.tokenLifetime === undefined
            ? `${formatLength(longest)}, as for all users`
            : formatLength(Math.min(lengthOf(user.tokenLifetime), longest))}
        </Fact>
        <Fact name="Client credentials grant">
          {user.clientCredentialsEnabled ? 'enabled' : 'disabled: it gets no tokens'}
        </Fact>
        <Fact name="Bound">{boundnessOf(user)}</Fact>
        <Fact name="Claims of its own">{user.tokenClaims === '' ? 'none' : <code>{user.tokenClaims}</code>}</Fact>
      </dl>
    </CardSection>
  )
}

function Actions({ user }: { readonly user: ServiceUser }) {
  return (
    <>
      {mayWithUser('iam.user.write', user) && (
        <DialogButton text="Change settings" dialog={<ChangeDialog user={user} />} />
      )}
      {may('iam.user.secret.write') && mayWithUser('iam.user.secret.write', user) && (
        <a class="button" href={linkTo(['tokens'], { user: user.clientId })}>
          Get a token
        </a>
      )}
      {mayWithUser('iam.user.credential.write', user) && (
        <ConfirmButton
          label="Revoke all tokens"
          title={`Revoke all access tokens of ${user.name}?`}
          verb="Revoke all"
          isDangerous
          change={() => serviceUsers.revokeTokens({ userId: user.userId })}
        >
          <p>
            Keyturn's own API and introspection refuse all access tokens that it has got so far. Services that verify
            tokens themselves accept them until they expire, at most {formatLength(tokenLifetime.value)} from now.
          </p>
          <p>It can request new ones at once. Its personal access tokens stay.</p>
        </ConfirmButton>
      )}
    </>
  )
}

function boundnessOf({ boundTokensRequired, certificateBoundTokens }: ServiceUser): string {
  const what = certificateBoundTokens ? 'a key (DPoP) or a certificate' : 'a key (DPoP)'
  return boundTokensRequired ? `always, to ${what}` : `to ${what}, if the request has one`
}

function ChangeDialog({ user }: { readonly user: ServiceUser }) {
  const { userId, name, clientCredentialsEnabled, boundTokensRequired, certificateBoundTokens, tokenClaims } = user
  const { values, field, set, paths } = useDraft({
    name,
    clientCredentialsEnabled,
    boundTokensRequired,
    certificateBoundTokens,
    tokenClaims,
    /** In seconds. Undefined: that of all users. */
    tokenLifetime: user.tokenLifetime === undefined ? undefined : Number(user.tokenLifetime.seconds),
  })
  const change = () => {
    const { tokenLifetime: own, ...others } = values
    const lifetime = own === undefined ? {} : { tokenLifetime: { seconds: BigInt(Number.isFinite(own) ? own : 0) } }
    return serviceUsers.updateServiceUser({ userId, ...others, ...lifetime, updateMask: { paths } })
  }
  return (
    <ConfirmDialog title={`Settings of ${name}`} verb="Save" isIncomplete={paths.length === 0} change={change}>
      <TextField label="Name" required maxLength={200} {...field('name')} />
      {CHECKS.map(([check, text]) => (
        <CheckField key={check} {...field(check)}>
          {text}
        </CheckField>
      ))}
      <CheckField
        value={values.tokenLifetime !== undefined}
        onChange={(hasOwn) => set({ tokenLifetime: hasOwn ? tokenLifetime.value / 1000 : undefined })}
      >
        A token lifetime of its own
      </CheckField>
      {values.tokenLifetime !== undefined && (
        <DurationField
          label="Lifetime of its tokens"
          value={values.tokenLifetime}
          onChange={(seconds) => set({ tokenLifetime: seconds })}
        />
      )}
      <LongTextField
        label="Claims of its own"
        hint="A JSON object that each of its access tokens has. Empty: none."
        rows={3}
        {...field('tokenClaims')}
      />
      <p class="hint">What changes is in the tokens that are issued from then on.</p>
    </ConfirmDialog>
  )
}

const CHECKS = [
  ['clientCredentialsEnabled', 'May use the client credentials grant'],
  ['boundTokensRequired', 'Only bound tokens: to a key (DPoP) or to a certificate'],
  ['certificateBoundTokens', 'Tokens are bound to the client certificate of the request'],
] as const
