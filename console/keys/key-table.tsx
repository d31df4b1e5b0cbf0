/**
 * The facts about each key, and what can be done with it.
 */
import type { ReadonlySignal } from '@preact/signals'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { now } from '../live/instance.ts'
import { linkTo } from '../navigation/route.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Copyable, Distance, When } from '../parts/values.tsx'
import { may } from '../session/session.ts'
import { keyActionsOf } from './key-dialogs.tsx'
import { kindOf } from './key-kind.tsx'
import type { KeyLife, KeyView } from './key-life.ts'
import { isNeeded, nameOf, nextOf, statusOf } from './key-sentences.ts'

interface KeyTableProps {
  readonly lives: readonly KeyLife[]
  readonly view: ReadonlySignal<KeyView>
}

const COLUMNS: readonly Column<KeyLife>[] = [
  { name: 'Key', kind: 'main', cell: nameCell },
  { name: 'State', cell: (life) => <StateBadge life={life} /> },
  { name: 'Published', cell: ({ publishedAt }) => <When at={publishedAt} /> },
  { name: 'Signs', cell: signing },
  { name: 'Needed until', cell: ({ neededUntil }) => <When at={neededUntil} /> },
  { name: 'Withdrawn', cell: ({ goneAt }) => <Distance at={goneAt} /> },
]

export function KeyTable({ lives, view }: KeyTableProps) {
  return (
    <DataTable
      caption="Keys, in the order of their publication"
      columns={COLUMNS}
      rows={lives}
      keyOf={({ id }) => id}
      empty="There are no keys: no token can be issued. Create a key and activate it."
      classOf={classOf}
      actionsOf={(life) => keyActionsOf(life, view)}
    />
  )
}

function classOf({ key, isDeleted }: KeyLife): string {
  if (isDeleted) return 'is-deleted'
  return key === undefined ? 'is-planned' : ''
}

function nameCell(life: KeyLife) {
  const { id, key, isDeleted } = life
  const at = now.value
  // What else comes next has columns.
  const next = life.privateKeyGoneAt === undefined ? '' : nextOf(life, at)
  return (
    <div class="key-name">
      {key === undefined && !isDeleted ? (
        <span>{nameOf(life)}</span>
      ) : (
        <span>
          <Copyable text={id} shown={nameOf(life)} what={`key id ${id}`} />{' '}
          {key !== undefined && (
            <span class="quiet" title={kindOf(key.config)?.name}>
              {key.algorithm}
            </span>
          )}
          {may('iam.audit.read') && (
            <span class="quiet">
              {key === undefined ? '' : ' · '}
              <a href={linkTo(['audit'], { resource: `web_keys/${id}` })} aria-label={`Events of key ${nameOf(life)}`}>
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
function StateBadge({ life: { key, isDeleted } }: { readonly life: KeyLife }) {
  if (key === undefined) return <span class="badge">{isDeleted ? 'deleted' : 'planned'}</span>
  const name = WebKeyState[key.state].toLowerCase()
  return <span class={`badge is-${name}`}>{name}</span>
}
