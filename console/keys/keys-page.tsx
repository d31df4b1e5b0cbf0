/**
 * The keys: which one signs, what happens next, and what can be done.
 */
import type { RotationPolicy, RotationStep } from '../../gen/iam/webkey/v2/rotation_pb.js'
import { type WebKey, WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { webKeys } from '../api/clients.ts'
import { formatDistance, formatMoment, shortened } from '../format/text.ts'
import { lifetimes, now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, route } from '../navigation/route.ts'
import { DialogButton } from '../parts/dialogs.tsx'
import { CheckField } from '../parts/fields.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { PageHeading } from '../parts/page.tsx'
import { may } from '../session/session.ts'
import { readDeletedKeys } from './deleted-keys.ts'
import { CreateKeyDialog, RotateDialog } from './key-dialogs.tsx'
import { type KeyLife, type Lifetimes, livesOf } from './key-life.ts'
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
  return (
    <>
      <PageHeading title="Keys">
        {value !== undefined && may('iam.web_key.write') && (
          <>
            <DialogButton text="Create key" dialog={<CreateKeyDialog {...value} />} />
            <DialogButton text="Rotate now" kind="primary" dialog={<RotateDialog {...value} />} />
          </>
        )}
      </PageHeading>
      <LoadedView loaded={{ ...loaded, value }}>
        {(view) => (
          <>
            <Summary {...view} />
            <section class="card" aria-label="Timeline">
              <div class="card-head">
                <Legend />
                <ScaleChoice scale={scale} />
              </div>
              <Timeline lives={view.shown} lifetimes={view.lifetimes} now={now.value} scale={scale} />
            </section>
            <section class="card" aria-label="All keys">
              <KeyTable {...view} />
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
            {view.policy !== undefined && <PolicyCard {...view} policy={view.policy} />}
          </>
        )}
      </LoadedView>
    </>
  )
}

interface LoadedKeys {
  readonly keys: readonly WebKey[]
  readonly steps: readonly RotationStep[]
  readonly policy: RotationPolicy | undefined
  readonly deleted: readonly KeyLife[]
}

/** What was loaded, as it is shown now. */
function viewOf({ keys, steps, policy, deleted }: LoadedKeys, lifetimes: Lifetimes) {
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
