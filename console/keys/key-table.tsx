/**
 * The facts about each key, and what can be done with it.
 */
import type { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { shortened } from '../format/shortened.ts'
import { now } from '../live/clock.ts'
import { linkTo } from '../navigation/route.ts'
import { Copyable } from '../parts/copyable.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Distance, When } from '../parts/when.tsx'
import { may } from '../session/session.ts'
import { actionsOf, type KeyAction } from './key-actions.ts'
import { kindNameOf } from './key-kind.ts'
import type { KeyLife } from './key-life.ts'
import { isNeeded, nextOf, STATE_NAMES, statusOf } from './key-sentences.ts'

interface KeyTableProps {
  readonly lives: readonly KeyLife[]
  onAction(action: KeyAction, life: KeyLife): void
}

export function KeyTable({ lives, onAction }: KeyTableProps) {
  const columns: Column<KeyLife>[] = [
    { name: 'Key', kind: 'main', cell: nameOf },
    { name: 'State', cell: ({ key }) => <StateBadge state={key?.state} /> },
    { name: 'Published', cell: ({ publishedAt }) => <When at={publishedAt} /> },
    { name: 'Signs', cell: signing },
    { name: 'Needed until', cell: ({ neededUntil }) => <When at={neededUntil} /> },
    { name: 'Withdrawn', cell: ({ goneAt }) => <Distance at={goneAt} /> },
    {
      name: 'Actions',
      kind: 'actions',
      cell: (life) =>
        actionsOf(life).map(({ action, label }) => (
          <button
            key={action}
            type="button"
            class="button is-small"
            aria-label={`${label} key ${shortened(life.id)}`}
            onClick={() => onAction(action, life)}
          >
            {label}
          </button>
        )),
    },
  ]
  return (
    <DataTable
      caption="Keys, in the order of their publication"
      columns={columns}
      rows={lives}
      keyOf={({ id }) => id}
      empty="There are no keys: no token can be issued. Create a key and activate it."
      classOf={({ key }) => (key === undefined ? 'is-planned' : '')}
    />
  )
}

function nameOf(life: KeyLife) {
  const { key } = life
  const at = now.value
  // What else comes next has columns.
  const next = life.privateKeyGoneAt === undefined ? '' : nextOf(life, at)
  return (
    <div class="key-name">
      {key === undefined ? (
        <span>Next key</span>
      ) : (
        <span>
          <Copyable text={key.keyId} shown={shortened(key.keyId)} what={`key id ${key.keyId}`} />{' '}
          <span class="quiet" title={kindNameOf(key.config)}>
            {key.algorithm}
          </span>
          {may('iam.audit.read') && (
            <span class="quiet">
              {' · '}
              <a
                href={linkTo(['audit'], { resource: `web_keys/${key.keyId}` })}
                aria-label={`Events of key ${shortened(key.keyId)}`}
              >
                events
              </a>
            </span>
          )}
        </span>
      )}
      <span>
        <span class={isNeeded(life, at) ? 'is-needed' : 'quiet'}>{statusOf(life, at)}</span>
        {next !== '' && <span class="quiet"> · {next}</span>}
      </span>
    </div>
  )
}

function signing({ signsAt, stopsAt }: KeyLife) {
  if (signsAt === undefined) return '–'
  return (
    <span>
      <When at={signsAt} /> – <When at={stopsAt} otherwise="" />
    </span>
  )
}

/** The state of a key as a badge. */
function StateBadge({ state }: { readonly state: WebKeyState | undefined }) {
  if (state === undefined) return <span class="badge">planned</span>
  return <span class={`badge is-${STATE_NAMES[state]}`}>{STATE_NAMES[state]}</span>
}
