/**
 * The keys: which one signs, what happens next, and what can be done.
 */

import { useState } from 'preact/hooks'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { webKeys } from '../api/clients.ts'
import { formatDistance, formatMoment, shortened } from '../format/text.ts'
import { lifetimes, now } from '../live/instance.ts'
import { useLoaded } from '../live/loaded.ts'
import { changeQuery, route } from '../navigation/route.ts'
import { Button } from '../parts/buttons.tsx'
import { Closing } from '../parts/dialogs.tsx'
import { CheckField } from '../parts/fields.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Outcome, PageHeading } from '../parts/page.tsx'
import { may } from '../session/session.ts'
import { readDeletedKeys } from './deleted-keys.ts'
import { type KeyAction, KeyDialog } from './key-dialogs.tsx'
import { type KeyLife, livesOf } from './key-life.ts'
import { KeyTable } from './key-table.tsx'
import { Legend } from './legend.tsx'
import { CreateKeyDialog, RotateDialog } from './new-key-dialogs.tsx'
import { PolicyCard, PolicyDialog } from './policy.tsx'
import { SCALES, type ScaleKind } from './time-scale.ts'
import { Timeline } from './timeline.tsx'

const STEPS = 40
const STATES = [WebKeyState.INITIAL, WebKeyState.ACTIVE, WebKeyState.INACTIVE, WebKeyState.REVOKED]

type Open = { readonly kind: 'create' | 'rotate' | 'policy' } | { readonly kind: KeyAction; readonly keyId: string }

export function KeysPage() {
  const withRevoked = route.value.query.has('revoked')
  const withDeleted = route.value.query.has('deleted') && may('iam.audit.read')
  const scale: ScaleKind = route.value.query.get('scale') === 'even' ? 'even' : 'now'
  const [open, setOpen] = useState<Open>()
  const [outcome, setOutcome] = useState('')
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
  const start = (next: Open) => {
    setOutcome('')
    setOpen(next)
  }
  return (
    <>
      <PageHeading title="Keys">
        {may('iam.web_key.write') && (
          <>
            <Button text="Create key" onClick={() => start({ kind: 'create' })} />
            <Button text="Rotate now" kind="primary" onClick={() => start({ kind: 'rotate' })} />
          </>
        )}
      </PageHeading>
      <Outcome text={outcome} onClose={() => setOutcome('')} />
      <LoadedView loaded={times === undefined ? { ...loaded, value: undefined } : loaded}>
        {({ keys, steps, policy, deleted }) => {
          if (times === undefined) return null
          const lives = livesOf(keys, steps, { lifetimes: times, now: now.value })
          const signer = lives.find(({ key }) => key?.state === WebKeyState.ACTIVE)
          const shown = [...deleted, ...lives].sort((a, b) => a.publishedAt - b.publishedAt)
          const shared = { lifetimes: times, onDone: setOutcome }
          return (
            <>
              <Summary lives={lives} signer={signer} />
              <section class="card" aria-label="Timeline">
                <div class="card-head">
                  <Legend />
                  <ScaleChoice scale={scale} />
                </div>
                <Timeline lives={shown} lifetimes={times} now={now.value} scale={scale} />
              </section>
              <section class="card" aria-label="All keys">
                <KeyTable lives={shown} onAction={(kind, { id }) => start({ kind, keyId: id })} />
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
              {policy !== undefined && (
                <PolicyCard
                  policy={policy}
                  steps={steps}
                  onChange={may('iam.web_key.write') ? () => start({ kind: 'policy' }) : undefined}
                />
              )}
              <Closing.Provider value={() => setOpen(undefined)}>
                {open?.kind === 'create' && (
                  <CreateKeyDialog keys={published(keys)} usual={policy?.config} {...shared} />
                )}
                {open?.kind === 'rotate' && <RotateDialog lives={lives} policy={policy} {...shared} />}
                {open?.kind === 'policy' && policy !== undefined && (
                  <PolicyDialog policy={policy} keys={published(keys)} {...shared} />
                )}
                {open !== undefined && 'keyId' in open && (
                  <KeyDialog {...open} lives={lives} signer={signer} {...shared} />
                )}
              </Closing.Provider>
            </>
          )
        }}
      </LoadedView>
    </>
  )
}

function published<Key extends { readonly state: WebKeyState }>(keys: readonly Key[]): Key[] {
  return keys.filter(({ state }) => state !== WebKeyState.REVOKED)
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
