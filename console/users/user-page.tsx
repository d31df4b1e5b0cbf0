/**
 * One service user: what it is, what it may do, and how it proves who it is.
 */
import { useState } from 'preact/hooks'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { serviceUsers } from '../api/clients.ts'
import { millisecondsOf } from '../format/moment.ts'
import { useLoaded } from '../live/loaded.ts'
import { goTo, linkTo } from '../navigation/route.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { Copyable } from '../parts/copyable.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page-heading.tsx'
import { When } from '../parts/when.tsx'
import { nameOfProject } from '../projects/project-names.ts'
import { mayWithUser } from '../session/rights.ts'
import { may, session } from '../session/session.ts'
import { AccessSection } from './access-section.tsx'
import { CertificatesSection } from './certificates-section.tsx'
import { IdentitiesSection } from './identities-section.tsx'
import { PersonalTokensSection } from './personal-tokens-section.tsx'
import { SecretsSection } from './secrets-section.tsx'
import { TokenSettingsSection } from './token-settings-section.tsx'
import { UserKeysSection } from './user-keys-section.tsx'
import { readUser } from './user-record.ts'
import { UserState } from './user-state.tsx'

export function UserPage({ id: userId }: { readonly id: string }) {
  // The last use of a secret changes without a new version.
  const loaded = useLoaded(`user ${userId}`, (options) => readUser(userId, options), { isPeriodic: true })
  return (
    <>
      <p class="crumbs">
        <a href={linkTo(['users'])}>Service users</a>
      </p>
      <LoadedView loaded={loaded}>
        {(record) => {
          if (record === undefined) return <p>There is no such user.</p>
          const { user, secrets, keys, certificates, tokens, identities, issuers, projects } = record
          return (
            <>
              <PageHeading title={user.name} subtitle={<Copyable text={user.clientId} what="the client ID" />}>
                <UserActions user={user} />
              </PageHeading>
              <p class="summary">
                <UserState user={user} /> Belongs to the project{' '}
                <a href={linkTo(['projects', user.projectId])}>{nameOfProject(projects, user.projectId)}</a>. Created{' '}
                <When at={millisecondsOf(user.creationDate)} />.{' '}
                {may('iam.audit.read') && (
                  <>
                    What it <a href={linkTo(['audit'], { actor: user.userId })}>did</a>, and what{' '}
                    <a href={linkTo(['audit'], { resource: `users/${user.userId}` })}>was done to it</a>.
                  </>
                )}
              </p>
              <SecretsSection user={user} secrets={secrets} />
              <AccessSection user={user} projects={projects} />
              <TokenSettingsSection user={user} />
              <UserKeysSection user={user} keys={keys} />
              <CertificatesSection user={user} certificates={certificates} />
              <PersonalTokensSection user={user} tokens={tokens} />
              <IdentitiesSection user={user} identities={identities} issuers={issuers} />
            </>
          )
        }}
      </LoadedView>
    </>
  )
}

function UserActions({ user }: { readonly user: ServiceUser }) {
  const [open, setOpen] = useState<'switch' | 'delete'>()
  const { userId, name, enabled } = user
  const close = () => setOpen(undefined)
  const isSelf = session.value.kind === 'signed-in' && session.value.user.userId === userId
  return (
    <>
      {mayWithUser('iam.user.write', user) && (
        <button type="button" class="button" onClick={() => setOpen('switch')}>
          {enabled ? 'Disable' : 'Enable'}
        </button>
      )}
      {mayWithUser('iam.user.delete', user) && (
        <button type="button" class="button" onClick={() => setOpen('delete')}>
          Delete
        </button>
      )}
      {open === 'switch' && (
        <ConfirmDialog
          title={`${enabled ? 'Disable' : 'Enable'} ${name}?`}
          verb={enabled ? 'Disable' : 'Enable'}
          isDangerous={enabled}
          onClose={close}
          change={async () => {
            if (enabled) await serviceUsers.disableServiceUser({ userId })
            else await serviceUsers.enableServiceUser({ userId })
          }}
        >
          {enabled ? (
            <p>
              It gets no more tokens, and its calls of Keyturn's API are refused. Services that verify tokens themselves
              accept those that it has until they expire.
              {isSelf && ' This is the user of your session, which ends too.'}
            </p>
          ) : (
            <p>Its secrets, keys and personal access tokens that have not ended work again.</p>
          )}
        </ConfirmDialog>
      )}
      {open === 'delete' && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          verb="Delete for good"
          isDangerous
          onClose={close}
          change={async () => {
            await serviceUsers.deleteServiceUser({ userId })
            goTo(['users'])
          }}
        >
          <p>
            Its secrets, keys, personal access tokens, roles and scopes are deleted with it. Services that verify tokens
            themselves accept those that it has until they expire. This cannot be undone; to stop it for now, disable
            it.
            {isSelf && ' This is the user of your session, which ends too.'}
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
