import { describe, expect, it } from '@jest/globals'
import { FederatedSubjects } from '../../../../src/app/federation/federated-subjects.ts'
import type { FederatedSubject } from '../../../../src/domain/federation/federated-identity.ts'
import type { IdentityChanges } from '../../../../src/domain/identities/changed-users.ts'

const ROBOT: FederatedSubject = { issuerId: 'issuer', subject: 'robot of the shop' }

const ANY: IdentityChanges = { kind: 'any' }

function changesOf(userIds: readonly string[], subjects: readonly FederatedSubject[]): IdentityChanges {
  return { kind: 'some', userIds: new Set(userIds), projectIds: new Set(), subjects }
}

function setUp() {
  const instance = { version: 1, robots: ['a'] as readonly string[], reads: 0 }
  const revision = () => ({ version: instance.version, changedAt: new Date(instance.version) })
  const usersOf = ({ subject }: FederatedSubject) => (subject === ROBOT.subject ? instance.robots : [])
  const subjects = new FederatedSubjects({
    findFederatedUsers: async (subject) => {
      instance.reads += 1
      return { ...revision(), userIds: usersOf(subject) }
    },
  })
  /** Takes over what `loadSince` of the instance would give. */
  const refresh = (changes: IdentityChanges = ANY) => {
    const asked = subjects.subjectsToRead(changes)
    subjects.replace({ ...revision(), federatedUsers: asked.map(usersOf), changes }, asked)
    return asked
  }
  refresh()
  return { instance, subjects, refresh }
}

describe('the federated subjects in memory', () => {
  it('are read at their first use, and stay through changes of the instance', async () => {
    const { instance, subjects, refresh } = setUp()
    expect(subjects.recall(ROBOT)).toBeUndefined()
    expect(await subjects.read(ROBOT)).toEqual(['a'])
    instance.version += 1
    refresh()
    expect(subjects.recall(ROBOT)).toEqual(['a'])
    expect(instance.reads).toBe(1)
  })

  it('name the users whom the newest version names, and none that no user has', async () => {
    const { instance, subjects, refresh } = setUp()
    await subjects.read(ROBOT)
    Object.assign(instance, { version: 2, robots: ['a', 'b'] })
    refresh()
    expect(subjects.recall(ROBOT)).toEqual(['a', 'b'])
    Object.assign(instance, { version: 3, robots: [] })
    refresh()
    expect(subjects.recall(ROBOT)).toBeUndefined()
    expect(subjects.subjectsToRead(ANY)).toEqual([])
  })

  it('are read again only for users who may have changed, those who have them now and those who had them', async () => {
    const { instance, subjects, refresh } = setUp()
    await subjects.read(ROBOT)
    Object.assign(instance, { version: 2, robots: ['a', 'b'] })
    expect(refresh(changesOf(['c'], []))).toEqual([])
    expect(subjects.recall(ROBOT)).toEqual(['a'])
    expect(refresh(changesOf(['b'], [ROBOT]))).toEqual([ROBOT])
    expect(subjects.recall(ROBOT)).toEqual(['a', 'b'])
    Object.assign(instance, { version: 3, robots: [] })
    expect(refresh(changesOf(['a'], []))).toEqual([ROBOT])
    expect(subjects.recall(ROBOT)).toBeUndefined()
  })

  it('that came in while a state was read, and may have changed in it, are forgotten', async () => {
    const { instance, subjects } = setUp()
    const changes = changesOf(['a'], [])
    expect(subjects.subjectsToRead(changes)).toEqual([])
    await subjects.read(ROBOT)
    instance.version = 2
    subjects.replace({ version: 2, changedAt: new Date(2), federatedUsers: [], changes }, [])
    expect(subjects.recall(ROBOT)).toBeUndefined()
  })
})
