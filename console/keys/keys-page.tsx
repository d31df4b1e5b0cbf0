/**
 * The keys: which one signs, what happens next, and what can be done.
 */
import type { CallOptions } from '@connectrpc/connect'
import { useSignal } from '@preact/signals'
import type { AuditEvent } from '../../gen/iam/audit/v2/audit_service_pb.js'
import { type WebKey, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { auditTrail, webKeys } from '../api/clients.ts'
import { formatDistance, formatMoment, millisecondsOf, shortened } from '../format/text.ts'
import { lifetimes, now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, route } from '../navigation/route.ts'
import { DialogButton } from '../parts/dialogs.tsx'
import { CheckField } from '../parts/fields.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page.tsx'
import { may } from '../session/session.ts'
import { CreateKeyDialog, RotateDialog } from './key-dialogs.tsx'
import { type KeyLife, type KeyView, type Lifetimes, livesOf, newLife } from './key-life.ts'
import { KeyTable } from './key-table.tsx'
import { Legend } from './legend.tsx'
import { PolicyCard } from './policy.tsx'
import { SCALES, type ScaleKind } from './time-scale.ts'
import { Timeline } from './timeline.tsx'

const STEPS = 40
const STATES = [WebKeyState.INITIAL, WebKeyState.ACTIVE, WebKeyState.INACTIVE, WebKeyState.REVOKED]

export function KeysPage() {
  const withRevoked = route.value.query.has('revoked')
  const withDeleted = route.value.query.has('deleted') && may('iam.audit.read')
  const scale: ScaleKind = route.value.query.get('scale') === 'even' ? 'even' : 'now'
  const loaded = useLoaded(`keys ${withRevoked} ${withDeleted}`, async (options) => {
    const [{ webKeys: keys }, { steps }, { policy }, deleted] = await Promise.all([
      webKeys.listWebKeys({ states: withRevoked ? STATES : [] }, options),
      webKeys.getRotationSchedule({ count: STEPS }, options),
      webKeys.getRotationPolicy({}, options),
      withDeleted ? readDeletedKeys(options) : [],
    ])
    return { keys, steps, policy, deleted }
  })
  const times = lifetimes.value
  const value = loaded.value && times && viewOf(loaded.value, times)
  // Dialogs are outside of this view, and see it change.
  const view = useSignal(NO_KEYS)
  if (value !== undefined) view.value = value
  return (
    <>
      <PageHeading title="Keys">
        {value !== undefined && may('iam.web_key.write') && (
          <>
            <DialogButton text="Create key" dialog={<CreateKeyDialog view={view} />} />
            <DialogButton text="Rotate now" kind="primary" dialog={<RotateDialog view={view} />} />
          </>
        )}
      </PageHeading>
      <LoadedView loaded={{ ...loaded, value }}>
        {({ lives, shown, signer, steps, policy, lifetimes }) => (
          <>
            <Summary lives={lives} signer={signer} />
            <section class="card" aria-label="Timeline">
              <div class="card-head">
                <Legend />
                <ScaleChoice scale={scale} />
              </div>
              <Timeline lives={shown} lifetimes={lifetimes} now={now.value} scale={scale} />
            </section>
            <section class="card" aria-label="All keys">
              <KeyTable lives={shown} view={view} />
              <CheckField
                isSmall
                value={withRevoked}
                onChange={(isShown) => changeQuery({ revoked: isShown ? 'shown' : '' })}
              >
                Show revoked keys
              </CheckField>
              {may('iam.audit.read') && (
                <CheckField
                  isSmall
                  value={withDeleted}
                  onChange={(isShown) => changeQuery({ deleted: isShown ? 'shown' : '' })}
                >
                  Show deleted keys, as far as the audit trail has them
                </CheckField>
              )}
            </section>
            {policy !== undefined && <PolicyCard policy={policy} steps={steps} view={view} />}
          </>
        )}
      </LoadedView>
    </>
  )
}

interface LoadedKeys extends Pick<KeyView, 'steps' | 'policy'> {
  readonly keys: readonly WebKey[]
  readonly deleted: readonly KeyLife[]
}

/** What was loaded, as it is shown now. */
function viewOf({ keys, steps, policy, deleted }: LoadedKeys, lifetimes: Lifetimes): KeyView {
  const lives = livesOf(keys, steps, { lifetimes, now: now.value })
  return {
    lives,
    shown: [...deleted, ...lives].sort((a, b) => a.publishedAt - b.publishedAt),
    signer: lives.find(({ key }) => key?.state === WebKeyState.ACTIVE),
    published: keys.filter(({ state }) => state !== WebKeyState.REVOKED),
    steps,
    policy,
    lifetimes,
  }
}

const NO_KEYS = viewOf(
  { keys: [], steps: [], policy: undefined, deleted: [] },
  { keySetCache: 0, token: 0, staleness: 0 },
)

/** Who signs, until when, and who is next: the answer before any drawing. */
function Summary({ lives, signer }: { readonly lives: readonly KeyLife[]; readonly signer: KeyLife | undefined }) {
  const at = now.value
  if (signer === undefined) {
    return <p class="summary">No key is active, so no token can be issued.</p>
  }
  const next = lives.find(
    ({ signsAt, stopsAt }) => signsAt !== undefined && signsAt === signer.stopsAt && stopsAt !== signsAt,
  )
  return (
    <p class="summary">
      <strong>
        <code>{shortened(signer.id)}</code> signs all new tokens
      </strong>{' '}
      since {formatMoment(signer.signsAt ?? at, at)}.{' '}
      {signer.stopsAt === undefined ? (
        'Nothing replaces it by itself.'
      ) : (
        <>
          {next?.key === undefined ? 'A key that is not created yet' : <code>{shortened(next.id)}</code>} takes over{' '}
          {formatDistance(signer.stopsAt, at)}, on {formatMoment(signer.stopsAt, at)}.
        </>
      )}
    </p>
  )
}

const SCALE_NAMES: Readonly<Record<ScaleKind, string>> = { now: 'Around now', even: 'To scale' }

function ScaleChoice({ scale }: { readonly scale: ScaleKind }) {
  return (
    <fieldset class="segments">
      <legend class="unseen">Time axis</legend>
      {SCALES.map((kind) => (
        <label key={kind}>
          <input
            type="radio"
            name="scale"
            checked={scale === kind}
            onChange={() => changeQuery({ scale: kind === 'even' ? 'even' : '' })}
          />
          <span>{SCALE_NAMES[kind]}</span>
        </label>
      ))}
    </fieldset>
  )
}

/** So many deleted keys are shown, the last ones. */
const SHOWN = 20

/** So many events of keys are read, the newest. */
const EVENTS = 1000

/** What the resource of an event of a key begins with. */
const KEYS = 'web_keys'

/** What an event did to its key, by the last part of its action. */
const DELETED = ['DeleteWebKey', 'delete']
const ACTIVATED = ['ActivateWebKey', 'RotateWebKey', 'activate']

/** The lives of keys that were deleted, as far as the audit trail tells them: the API has only keys that exist, and those that were revoked. */
async function readDeletedKeys(options: CallOptions): Promise<readonly KeyLife[]> {
  const { events } = await auditTrail.listAuditEvents({ resource: KEYS, pageSize: EVENTS }, options)
  return deletedLives(events)
}

interface KeyEvent {
  readonly keyId: string
  readonly did: string
  readonly at: number
}

/** @param events Newest first. */
function deletedLives(events: readonly AuditEvent[]): readonly KeyLife[] {
  const known = events.filter(({ outcome }) => outcome === 'ok').map(toKeyEvent)
  const activations = known.filter(({ did }) => ACTIVATED.includes(did))
  return known
    .filter(({ did }) => DELETED.includes(did))
    .slice(0, SHOWN)
    .map(({ keyId, at: goneAt }) => {
      const signsAt = activations.find((event) => event.keyId === keyId)?.at
      // Newest first, so the last one that fits is the next activation.
      const stopsAt = activations.findLast((event) => signsAt !== undefined && event.at > signsAt)?.at
      const publishedAt = known.findLast((event) => event.keyId === keyId)?.at ?? goneAt
      // The lifetime of tokens at that time is not known.
      return { ...newLife(keyId, publishedAt), isDeleted: true, signsAt, stopsAt, goneAt }
    })
}

function toKeyEvent({ resource, action, eventDate }: AuditEvent): KeyEvent {
  const [, keyId = ''] = resource.split('/')
  return { keyId, did: action.split('/').at(-1) ?? '', at: millisecondsOf(eventDate) ?? 0 }
}
