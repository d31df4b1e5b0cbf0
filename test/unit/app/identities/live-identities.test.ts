import { describe, expect, it } from '@jest/globals'
import { LiveIdentities } from '../../../../src/app/identities/live-identities.ts'
import type { IdentityChanges, Revision } from '../../../../src/domain/changes.ts'
import type { FederatedSubject } from '../../../../src/domain/identities/federated-identity.ts'
import { createServiceUser, type ServiceUser } from '../../../../src/domain/identities/service-user.ts'
import type { InstanceReader } from '../../../../src/domain/ports/instance.ts'

const ANY: IdentityChanges = { kind: 'any' }
const ROBOT: FederatedSubject = { issuerId: 'issuer', subject: 'robot of the shop' }
type LiveReader = Pick<InstanceReader, 'findServiceUser' | 'findFederatedUsers'>

/** An instance in memory whose answers can be held back, to bring two of them into any order. */
class Instance implements LiveReader {
  /** Of all changes that were ever made. */
  #changes = 0
  /** Of those that are in the history. */
  readonly #dates: Date[] = []
  readonly #users = new Map<string, ServiceUser>()
  reads: string[] = []
  /** What each state says of the changes before it. */
  changes = ANY
  held: (() => void)[] | null = null

  set(user: ServiceUser): void {
    this.#change()
    this.#users.set(user.userId, user)
  }

  #change(): void {
    this.#changes += 1
    this.#dates.push(new Date(this.#changes))
  }

  /** As after a fail-over to a server that lacks the last changes. */
  goBack(changes: number): void {
    this.#dates.splice(-changes)
  }

  /** The state of the database, with these users. */
  state(userIds: readonly string[]) {
    const users = new Map([...this.#users].filter(([userId]) => userIds.includes(userId)))
    return { ...this.#revision, users, changes: this.changes }
  }

  get #revision(): Revision {
    return { version: this.#dates.length, changedAt: this.#dates.at(-1) ?? null }
  }

  async findServiceUser(userId: string): Promise<Revision & { user: ServiceUser | undefined }> {
    this.reads.push(userId)
    const answer = { ...this.#revision, user: this.#users.get(userId) }
    if (this.held !== null) await new Promise<void>((release) => this.held?.push(release))
    return answer
  }

  /** Who has the one subject that there is. */
  robots: readonly string[] = []

  async findFederatedUsers({ subject }: FederatedSubject): Promise<Revision & { userIds: readonly string[] }> {
    const userIds = subject === ROBOT.subject ? this.robots : []
    return { ...this.#revision, userIds }
  }
}

function identitiesOf(reader: Instance, limits: { maxReads?: number; maxUsers?: number } = {}): LiveIdentities {
  const guard = { isFresh: () => true, assertFresh: () => {}, assertReadable: () => {} }
  return new LiveIdentities({ reader, guard, ...limits })
}

function user(userId: string, name = userId): ServiceUser {
  const facts = { userId, name, projectId: 'project', projectName: 'project', clientCredentialsEnabled: true }
  return createServiceUser(facts, new Date(0))
}

function refresh(identities: LiveIdentities, instance: Instance): void {
  identities.replace(instance.state(identities.idsToRead(instance.changes)))
}

function changesOf({ userIds = [], projectIds = [] }: { userIds?: string[]; projectIds?: string[] }): IdentityChanges {
  return { kind: 'some', userIds: new Set(userIds), projectIds: new Set(projectIds), subjects: [] }
}

describe('the identities in memory', () => {
  it('are read once at a time for each user: who comes meanwhile shares the next time', async () => {
    const instance = new Instance()
    instance.set(user('a'))
    const identities = identitiesOf(instance)
    refresh(identities, instance)
    instance.held = []
    const early = identities.read('a')
    instance.set(user('a', 'renamed'))
    const late = [identities.read('a'), identities.read('a'), identities.read('a')]
    expect(instance.reads).toEqual(['a'])
    for (const release of instance.held) release()
    instance.held = null
    expect((await early)?.name).toBe('a')
    expect((await Promise.all(late)).map((found) => found?.name)).toEqual(['renamed', 'renamed', 'renamed'])
    expect(instance.reads).toEqual(['a', 'a'])
  })

  it('do not keep an answer that began before a change and ended after it', async () => {
    const instance = new Instance()
    instance.set(user('a'))
    const identities = identitiesOf(instance)
    refresh(identities, instance)

    instance.held = []
    const early = identities.find('a')
    instance.set(user('a', 'renamed'))
    refresh(identities, instance)
    const late = identities.find('a')
    for (const release of instance.held) release()
    instance.held = null

    expect((await early)?.name).toBe('a')
    expect((await late)?.name).toBe('renamed')
    expect((await identities.find('a'))?.name).toBe('renamed')
  })

  it('are not kept from an answer that began before a state which does not continue the one before', async () => {
    const instance = new Instance()
    instance.set(user('a'))
    const identities = identitiesOf(instance)
    refresh(identities, instance)
    instance.held = []
    const early = identities.find('a')
    // Another history, in which the version is the same.
    instance.goBack(1)
    instance.set(user('a', 'other'))
    refresh(identities, instance)
    for (const release of instance.held) release()
    await early
    expect(identities.recall('a')).toBeUndefined()
  })
})

describe('the subjects of trusted issuers in memory', () => {
  it('are forgotten after a change of users who have them now or had them, and of nobody is cached that none has', async () => {
    const instance = new Instance()
    for (const userId of ['a', 'b', 'c']) instance.set(user(userId))
    const identities = identitiesOf(instance)
    refresh(identities, instance)
    expect(await identities.readSubject(ROBOT)).toEqual([])
    expect(identities.recallSubject(ROBOT)).toBeUndefined()
    instance.robots = ['a']
    expect(await identities.readSubject(ROBOT)).toEqual(['a'])
    instance.changes = changesOf({ userIds: ['c'] })
    refresh(identities, instance)
    expect(identities.recallSubject(ROBOT)).toEqual(['a'])

    instance.changes = changesOf({ userIds: ['a'] })
    refresh(identities, instance)
    expect(identities.recallSubject(ROBOT)).toBeUndefined()
    await identities.readSubject(ROBOT)
    instance.changes = { kind: 'some', userIds: new Set(['b']), projectIds: new Set(), subjects: [ROBOT] }
    refresh(identities, instance)
    expect(identities.recallSubject(ROBOT)).toBeUndefined()
    await identities.readSubject(ROBOT)
    instance.changes = ANY
    refresh(identities, instance)
    expect(identities.recallSubject(ROBOT)).toBeUndefined()
  })
})
