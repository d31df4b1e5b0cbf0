import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '../../support/eventually.ts'
import { openTerminal, type Terminal } from '../../support/terminal.ts'

interface Event {
  readonly eventId: string
  readonly eventDate: string
  readonly actor: string
  readonly action: string
  readonly resource: string
  readonly outcome: string
}

const MISSING = '00000000-0000-4000-8000-000000000000'

let terminal: Terminal
let owner: string
let projectId: string
/** Every event, newest first, asked for without the command line. */
let all: readonly Event[]
beforeAll(async () => {
  terminal = await openTerminal()
  owner = (await terminal.server.admin()).client_id
  const { project } = await terminal.json<{ project: { projectId: string } }>('projects', 'create', 'billing')
  projectId = project.projectId
  await terminal.lines('projects', 'roles', 'add', 'billing', 'reader')
  await terminal.run('projects', 'delete', MISSING)
  // A refusal is written after its response.
  all = await eventually(async () => {
    const events = await listed()
    expect(events[0]).toMatchObject({ outcome: 'PROJECT_NOT_FOUND' })
    return events
  })
})
afterAll(() => terminal?.close())

const listed = async () =>
  (await terminal.call<{ events: Event[] }>('iam.audit.v2.AuditService/ListAuditEvents', {})).events

const events = async (...args: string[]) => (await terminal.json<{ events?: Event[] }>('audit', ...args)).events ?? []

describe('keyturn audit', () => {
  it('lists who did what, newest first', async () => {
    const [heading, ...rows] = (await terminal.lines('audit')).map((line) => line.split(/ {2,}/))
    expect(heading).toEqual(['TIME', 'OUTCOME', 'ACTION', 'ACTOR', 'ADDRESS', 'RESOURCE', 'REASON'])
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const userId = owner.slice(0, 36)
    expect(rows.slice(0, 3)).toEqual([
      [time, 'PROJECT_NOT_FOUND', 'DeleteProject', userId, '127.0.0.1', `projects/${MISSING}`],
      [time, 'ok', 'AddProjectRole', userId, '127.0.0.1', expect.stringContaining(`projects/${projectId}`)],
      [time, 'ok', 'CreateProject', userId, '127.0.0.1', `projects/${projectId}`],
    ])
    expect(rows).toHaveLength(all.length)
  })

  it('filters by actor, which may be a client ID, and by resource', async () => {
    const ofOwner = all.filter(({ actor }) => actor === owner.slice(0, 36))
    expect(ofOwner).toHaveLength(3)
    expect(await events('--actor', owner)).toEqual(ofOwner)
    expect(await events('--actor', owner.slice(0, 36))).toEqual(ofOwner)
    expect(await events('--actor', 'administrator')).toEqual(ofOwner)
    expect(await events('--resource', 'users/administrator')).toEqual(
      await events('--resource', `users/${owner.slice(0, 36)}`),
    )
    expect(await events('--actor', 'anonymous')).toEqual(all.filter(({ actor }) => actor === 'anonymous'))
    expect(await events('--resource', `projects/${projectId}`)).toEqual(
      all.filter(({ resource }) => resource.startsWith(`projects/${projectId}`)),
    )
  })

  it('filters by time: from a time on, before a time, both as a distance back or as a time', async () => {
    expect(await events('--from', '1h')).toEqual(all)
    expect(await events('--to', '1h')).toEqual([])
    const { eventDate } = all[1]!
    // The command line passes on milliseconds, the database keeps more: the event itself is on one side or the other.
    const sides = [await events('--from', eventDate), await events('--to', eventDate)]
    expect(sides.flat()).toEqual(all)
  })
})
