/**
 * The frame: navigation, what is wrong at the moment, and the page of the place that is shown.
 */
import type { ComponentType } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Permission } from '../src/domain/identities/permission.ts'
import { AuditPage } from './audit/audit-page.tsx'
import { formatLength } from './format/text.ts'
import { InstancePage } from './instance/instance-page.tsx'
import { IssuerPage, IssuersPage } from './issuers/issuer-pages.tsx'
import { KeysPage } from './keys/keys-page.tsx'
import { Patterns } from './keys/legend.tsx'
import { followInstance, heardAt, instance, now, outage, version } from './live/instance.ts'
import { linkTo, route } from './navigation/route.ts'
import { Button, Icon, type IconName } from './parts/buttons.tsx'
import { Page, sentence } from './parts/page.tsx'
import { ProjectPage } from './projects/project-page.tsx'
import { ProjectsPage } from './projects/projects-page.tsx'
import { NoRightsPage, SignInPage, SignOutFailedPage, UnreachablePage } from './session/entry-pages.tsx'
import { may, type SignedIn, session, signOut, updatePermissions } from './session/session.ts'
import { TokensPage } from './tokens/tokens-page.tsx'
import { UserPage } from './users/user-page.tsx'
import { UsersPage } from './users/users-page.tsx'
import { WebhookPage, WebhooksPage } from './webhooks/webhook-pages.tsx'

interface Place {
  readonly segment: IconName
  readonly name: string
  /** Without it, the place is not offered. */
  readonly permission?: Permission
  readonly Page: ComponentType
  /** The page of one of them, if its id is in the address. */
  readonly Item?: ComponentType<{ readonly id: string }>
}

const PLACES: readonly Place[] = [
  { segment: 'keys', name: 'Keys', permission: 'iam.web_key.read', Page: KeysPage },
  { segment: 'users', name: 'Service users', permission: 'iam.user.read', Page: UsersPage, Item: UserPage },
  { segment: 'projects', name: 'Projects', permission: 'iam.project.read', Page: ProjectsPage, Item: ProjectPage },
  {
    segment: 'issuers',
    name: 'Trusted issuers',
    permission: 'iam.trusted_issuer.read',
    Page: IssuersPage,
    Item: IssuerPage,
  },
  { segment: 'webhooks', name: 'Webhooks', permission: 'iam.webhook.read', Page: WebhooksPage, Item: WebhookPage },
  { segment: 'audit', name: 'Audit trail', permission: 'iam.audit.read', Page: AuditPage },
  { segment: 'tokens', name: 'Tokens', Page: TokensPage },
  { segment: 'instance', name: 'Instance', permission: 'iam.instance.read', Page: InstancePage },
]

export function App() {
  const { value } = session
  switch (value.kind) {
    case 'opening':
      return <p class="center loading">Loading…</p>
    case 'signed-out':
      return <SignInPage {...value} />
    case 'unreachable':
      return <UnreachablePage {...value} />
    case 'sign-out-failed':
      return <SignOutFailedPage {...value} />
    case 'signed-in':
      return value.user.permissions.length === 0 ? <NoRightsPage {...value.user} /> : <Frame user={value.user} />
  }
}

function Frame({ user }: { readonly user: SignedIn }) {
  useEffect(followInstance, [])
  const isRefused = outage.value?.isTransient === false
  useEffect(() => void updatePermissions(), [version.value, isRefused])
  const places = PLACES.filter(({ permission }) => permission === undefined || may(permission))
  const [segment = places[0]?.segment, id] = route.value.path
  const place = places.find((candidate) => candidate.segment === segment)
  const main = useFocusOnEntry(route.value.path.join('/'))
  return (
    <>
      <button type="button" class="skip" onClick={skipToMain}>
        Skip to the content
      </button>
      <Patterns />
      <div class="frame">
        <header class="side">
          <a class="brand" href={linkTo([])}>
            <Icon name="keys" /> Keyturn
          </a>
          <nav class="nav" aria-label="Console">
            {places.map(({ segment: to, name }) => (
              <a key={to} href={linkTo([to])} {...(to === segment ? { 'aria-current': 'page' as const } : {})}>
                <Icon name={to} /> {name}
              </a>
            ))}
          </nav>
          <div class="who">
            <span>
              <span class="unseen">Signed in as</span>
              <span class="who-name">{user.name}</span>
            </span>
            <Button text="Sign out" isSmall onClick={() => void signOut()} />
          </div>
        </header>
        <div>
          <OutageBanner />
          <main class="main" id="main" ref={main}>
            <Page key={route.value.path.join('/')}>
              <PageOf place={place} id={id} />
            </Page>
          </main>
        </div>
      </div>
    </>
  )
}

function PageOf({ place, id }: { readonly place: Place | undefined; readonly id: string | undefined }) {
  if (place === undefined) return <NotFound />
  if (id === undefined) return <place.Page />
  return place.Item === undefined ? <NotFound /> : <place.Item key={id} id={id} />
}

function NotFound() {
  return (
    <>
      <h1 tabIndex={-1}>There is no such page</h1>
      <p>
        <a href={linkTo([])}>To the keys</a>
      </p>
    </>
  )
}

/** Says that the server or its database cannot be reached, and how old is what is shown; or that the replica answers, and cannot serve. */
function OutageBanner() {
  const failure = outage.value
  const replica = instance.value?.replica
  if (failure === undefined && replica?.ready !== false) return null
  // The time that passes is that of this machine: the server cannot be asked.
  const age =
    now.value > 0 && heardAt.value > 0 ? `What is shown is ${formatLength(Date.now() - heardAt.value)} old.` : ''
  return (
    <div class="banner" role="alert">
      {failure === undefined
        ? `This replica is not ready: ${sentence(replica?.reason ?? '')}`
        : `${sentence(failure.message)} ${age}`}
    </div>
  )
}

/** Moves the focus to the heading when another page is entered, as a browser does with a new document. */
function useFocusOnEntry(place: string) {
  const main = useRef<HTMLElement>(null)
  const shown = useRef(place)
  useEffect(() => {
    if (shown.current === place) return
    shown.current = place
    main.current?.querySelector<HTMLElement>('h1')?.focus()
    scrollTo(0, 0)
  }, [place])
  return main
}

/** No link: the fragment of the address is the place. */
function skipToMain(): void {
  document.querySelector<HTMLElement>('#main h1')?.focus()
}
