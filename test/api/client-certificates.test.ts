/**
 * `iam.user.v2.ClientCertificateService`.
 */

import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { CertificateMatch } from '../../gen/iam/user/v2/client_certificate_pb.js'
import { type Administration, administrationOf, refusalOf } from '../support/administration.ts'
import { certificateOf } from '../support/certificates.ts'
import { type Keyturn, removeServers, startKeyturnInProcess } from '../support/keyturn.ts'

type Match = CertificateMatch['match']

let server: Keyturn
let admin: Administration

beforeAll(async () => {
  server = await startKeyturnInProcess()
  admin = await administrationOf(server)
})

afterAll(() => removeServers(server))

let count = 0
async function newUser(): Promise<string> {
  count += 1
  const { project } = await admin.projects.createProject({ name: `project-${count}` })
  const { serviceUser } = await admin.users.createServiceUser({ projectId: project!.projectId, name: 'robot' })
  return serviceUser!.userId
}

const add = (userId: string, match: Match, expirationDate?: Date) =>
  admin.certificates.addClientCertificate({
    userId,
    match: { match },
    ...(expirationDate === undefined ? {} : { expirationDate: timestampFromDate(expirationDate) }),
  })

const list = async (userId: string) => (await admin.certificates.listClientCertificates({ userId })).certificates

describe('the client certificates of a user', () => {
  it('are listed as they were added, in the spelling in which they are compared', async () => {
    const userId = await newUser()
    const { thumbprint } = certificateOf()
    const end = new Date(Date.now() + 3_600_000)
    await add(userId, { case: 'subjectDn', value: 'cn=checkout, O=Shop\\2c Inc.' })
    await add(userId, { case: 'sanDns', value: 'Checkout.Example' })
    await add(userId, { case: 'sanUri', value: 'spiffe://example.org/Checkout' })
    const { certificate } = await add(userId, { case: 'thumbprint', value: thumbprint }, end)
    const found = await list(userId)
    expect(found.map(({ match }) => match?.match)).toEqual([
      { case: 'subjectDn', value: 'CN=checkout,O=Shop\\, Inc.' },
      { case: 'sanDns', value: 'checkout.example' },
      { case: 'sanUri', value: 'spiffe://example.org/Checkout' },
      { case: 'thumbprint', value: thumbprint },
    ])
    expect(found.at(-1)).toEqual(certificate)
    expect(timestampDate(certificate!.expirationDate!)).toEqual(end)
    expect(found[0]?.expirationDate).toBeUndefined()
  })

  it('are removed by their ids', async () => {
    const userId = await newUser()
    const { certificate } = await add(userId, { case: 'sanDns', value: 'a.example' })
    await add(userId, { case: 'sanDns', value: 'b.example' })
    const { certificateId } = certificate!
    await admin.certificates.removeClientCertificate({ userId, certificateId })
    expect((await list(userId)).map(({ match }) => match?.match.value)).toEqual(['b.example'])
    expect(await refusalOf(admin.certificates.removeClientCertificate({ userId, certificateId }))).toMatchObject({
      code: 'NotFound',
      reason: 'CLIENT_CERTIFICATE_NOT_FOUND',
    })
  })

  it('are not added twice, in any spelling', async () => {
    const userId = await newUser()
    await add(userId, { case: 'subjectDn', value: 'CN=checkout,O=Shop' })
    expect(await refusalOf(add(userId, { case: 'subjectDn', value: 'cn=checkout, O=Shop' }))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'CLIENT_CERTIFICATE_INVALID',
      message: expect.stringContaining('the user has it already'),
    })
    expect(await list(userId)).toHaveLength(1)
  })

  it.each<[NonNullable<Match['case']>, string]>([
    ['subjectDn', 'checkout'],
    ['subjectDn', 'CN=checkout;O=Shop'],
    ['sanDns', '*.example'],
    ['sanDns', `${'a'.repeat(64)}.example`],
    ['sanUri', 'checkout'],
    ['sanUri', 'spiffe://example.org/a//b'],
    ['thumbprint', `${'A'.repeat(42)}B`],
  ])('have no %s %j', async (name, value) => {
    expect(await refusalOf(add(await newUser(), { case: name, value } as Match))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'CLIENT_CERTIFICATE_INVALID',
    })
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an empty name', { sanDns: '' }],
    ['a thumbprint in hexadecimal', { thumbprint: 'ab'.repeat(32) }],
  ])('are refused with %s instead of what must be equal', async (_, match) => {
    const request = { userId: await newUser(), match }
    const { status, body } = await admin.post('iam.user.v2.ClientCertificateService/AddClientCertificate', request)
    expect([status, body.code]).toEqual([400, 'invalid_argument'])
  })
})
