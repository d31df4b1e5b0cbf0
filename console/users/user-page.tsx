/**
 * One service user: what it is, what it may do, and how it proves who it is.
 */
import type { CallOptions } from '@connectrpc/connect'
import type { ServiceUser } from '../../gen/iam/user/v2/service_user_pb.js'
import { clientCertificates, everyItemOf, federatedIdentities, serviceUsers, trustedIssuers } from '../api/clients.ts'
import { linkTo } from '../navigation/route.ts'
import { ConfirmButton, DeleteButton } from '../parts/dialogs.tsx'
import { ItemView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page.tsx'
import { Copyable, When } from '../parts/values.tsx'
import { allProjects, nameOfProject } from '../projects/projects-page.tsx'
import { may, mayWithUser, session } from '../session/session.ts'
import { AccessSection } from './access-section.tsx'
import { CertificatesSection, PersonalTokensSection, UserKeysSection } from './credential-sections.tsx'
import { IdentitiesSection } from './identities-section.tsx'
import { SecretsSection } from './secrets-section.tsx'
import { TokenSettingsSection } from './token-settings-section.tsx'
import { UserState } from './users-page.tsx'

export function UserPage({ id: userId }: { readonly id: string }) {
  const read = (options: CallOptions) => readUser(userId, options)
  return (
    // The last use of a secret changes without a new version.
    <ItemView place={['users', 'Service users']} id={userId} isPeriodic read={read}>
      {({ user, secrets, keys, certificates, tokens, identities, issuers, projects }) => (
        <>
          <PageHeading title={user.name} subtitle={<Copyable text={user.clientId} what="the client ID" />}>
            <UserActions user={user} />
          </PageHeading>
          <p class="summary">
            <UserState user={user} /> Belongs to the project{' '}
            <a href={linkTo(['projects', user.projectId])}>{nameOfProject(projects, user.projectId)}</a>. Created{' '}
            <When at={user.creationDate} />.{' '}
            {may('iam.audit.read') && (
              <>
                What it <a href={linkTo(['audit'], { actor: userId })}>did</a>, and what{' '}
                <a href={linkTo(['audit'], { resource: `users/${userId}` })}>was done to it</a>.
              </>
            )}
          </p>
          <SecretsSection user={user} secrets={secrets} />
          <AccessSection user={user} projects={projects} />
          <TokenSettingsSection user={user} />
          <UserKeysSection user={user} rows={keys} />
          <CertificatesSection user={user} rows={certificates} />
          <PersonalTokensSection user={user} rows={tokens} />
          <IdentitiesSection user={user} identities={identities} issuers={issuers} />
        </>
      )}
    </ItemView>
  )
}

/** A user with its credentials, and what is chosen from. */
async function readUser(userId: string, options: CallOptions) {
  const [{ serviceUser: user }, secrets, keys, certificates, tokens, identities, issuers, projects] = await Promise.all(
    [
      serviceUsers.getServiceUser({ userId }, options),
      everyItemOf('secrets', (page) => serviceUsers.listClientSecrets({ userId, ...page }, options)),
      everyItemOf('keys', (page) => serviceUsers.listUserKeys({ userId, ...page }, options)),
      everyItemOf('certificates', (page) => clientCertificates.listClientCertificates({ userId, ...page }, options)),
      everyItemOf('personalAccessTokens', (page) =>
        serviceUsers.listPersonalAccessTokens({ userId, ...page }, options),
      ),
      everyItemOf('identities', (page) => federatedIdentities.listFederatedIdentities({ userId, ...page }, options)),
      may('iam.trusted_issuer.read')
        ? everyItemOf('trustedIssuers', (page) => trustedIssuers.listTrustedIssuers(page, options))
        : [],
      allProjects(options),
    ],
  )
  return user && { user, secrets, keys, certificates, tokens, identities, issuers, projects }
}

function UserActions({ user }: { readonly user: ServiceUser }) {
  const { userId, name, enabled } = user
  const isSelf = session.value.kind === 'signed-in' && session.value.user.userId === userId
  const endsSession = isSelf && ' This is the user of your session, which ends too.'
  const verb = enabled ? 'Disable' : 'Enable'
  return (
    <>
      {mayWithUser('iam.user.write', user) && (
        <ConfirmButton
          title={`${verb} ${name}?`}
          verb={verb}
          isDangerous={enabled}
          change={() =>
            enabled ? serviceUsers.disableServiceUser({ userId }) : serviceUsers.enableServiceUser({ userId })
          }
        >
          {enabled ? (
            <p>
              It gets no more tokens, and its calls of Keyturn's API are refused. Services that verify tokens themselves
              accept those that it has until they expire.{endsSession}
            </p>
          ) : (
            <p>Its secrets, keys and personal access tokens that have not ended work again.</p>
          )}
        </ConfirmButton>
      )}
      {mayWithUser('iam.user.delete', user) && (
        <DeleteButton title={`Delete ${name}?`} place="users" remove={() => serviceUsers.deleteServiceUser({ userId })}>
          Its secrets, keys, personal access tokens, roles and scopes are deleted with it. Services that verify tokens
          themselves accept those that it has until they expire. This cannot be undone; to stop it for now, disable it.
          {endsSession}
        </DeleteButton>
      )}
    </>
  )
}
