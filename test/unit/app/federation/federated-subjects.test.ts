import { describe, expect, it } from '@jest/globals'
import { FederatedSubjects } from '../../../../src/app/federation/federated-subjects.ts'
import type { FederatedSubject } from '../../../../src/domain/federation/federated-identity.ts'

const ROBOT: FederatedSubject = { issuerId: 'issuer', subject: 'robot of the shop' }

function setUp() {
  const instance = { version: 1, robots: ['a'] as readonly string[], reads: 0 }
  const usersOf = ({ subject }: FederatedSubject) => (subject === ROBOT.subject ? instance.robots : [])
  const subjects = new FederatedSubjects({
    findFederatedUsers: async (subject) => {
      instance.reads += 1
      return { version: instance.version, userIds: usersOf(subject) }
    },
  })
  /** Takes over what `load` of the instance would give. */
  const refresh = () => {
    const asked = subjects.cachedSubjects()
    subjects.replace({ version: instance.version, federatedUsers: asked.map(usersOf) }, asked)
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
    expect(subjects.cachedSubjects()).toEqual([])
  })

  it('are not kept from an answer of another version, nor from before one that came in the meantime', async () => {
    const { instance, subjects, refresh } = setUp()
    instance.version = 2
    await subjects.read(ROBOT)
    expect(subjects.recall(ROBOT)).toBeUndefined()
    refresh()
    await subjects.read(ROBOT)
    subjects.replace({ version: 3, federatedUsers: [] }, [])
    expect(subjects.recall(ROBOT)).toBeUndefined()
  })

  it('that no user has are looked up each time', async () => {
    const { instance, subjects } = setUp()
    const stranger = { ...ROBOT, subject: 'stranger' }
    for (let time = 0; time < 2; time += 1) expect(await subjects.read(stranger)).toEqual([])
    expect(subjects.recall(stranger)).toBeUndefined()
    expect(instance.reads).toBe(2)
  })
})
