import { timestampMs } from '@bufbuild/protobuf/wkt'
import { expect, it } from '@jest/globals'
import { WebKeyState } from '../../gen/iam/webkey/v2/web_key_pb.js'
import { describeConsole } from './console-tests.ts'

const shortened = (keyId: string) => `${keyId.slice(0, 8)}…`

describeConsole('the keys in the console', (test) => {
  const dialog = () => test.page.getByRole('dialog')
  const rowOf = (keyId: string) => test.page.getByRole('row').filter({ hasText: shortened(keyId) })
  const stateOf = async (keyId: string) => (await test.owner.keys.getWebKey({ keyId })).webKey?.state
  const confirm = async (verb: string) => {
    await dialog().getByRole('button', { name: verb }).click()
    await dialog().waitFor({ state: 'detached' })
  }
  const activeKey = async () => {
    const { webKeys } = await test.owner.keys.listWebKeys({ states: [WebKeyState.ACTIVE] })
    return webKeys[0]!.keyId
  }

  it('are drawn on a timeline, with a table of the same facts', async () => {
    const first = await activeKey()
    await rowOf(first).getByText('active', { exact: true }).waitFor()
    const drawing = test.page.getByRole('img', { name: /^Timeline of the keys\. / })
    expect(await drawing.getAttribute('aria-label')).toContain(`Key ${shortened(first)}: signs since`)
    expect(await drawing.textContent()).toContain('key set cached 5 min')
    expect(await drawing.textContent()).toContain('token valid 1 h')
  })

  it('are created, activated, rolled back and deleted, each after what a person has to know of it', async () => {
    const first = await activeKey()
    await test.page.getByRole('button', { name: 'Create key' }).click()
    expect(await dialog().textContent()).not.toContain('The first key of an algorithm')
    await dialog().getByLabel('Kind of key').selectOption({ label: 'Ed25519 (EdDSA)' })
    await dialog().getByText('Once an Ed25519 key is published').waitFor()
    await dialog().getByLabel('Kind of key').selectOption({ label: 'RSA 2048, SHA-256 (RS256)' })
    await confirm('Create key')
    await test.page.getByRole('status').getByText('is created and published').waitFor()
    const { webKeys } = await test.owner.keys.listWebKeys({ states: [WebKeyState.INITIAL] })
    const second = webKeys[0]!.keyId
    await rowOf(second).getByText('verifiers may not know it until').waitFor()

    await rowOf(second).getByRole('button', { name: 'Activate' }).click()
    const text = await dialog().textContent()
    expect(text).toMatch(new RegExp(`${shortened(first)} stops signing.*Tokens that it signed need it until`))
    expect(text).toContain('Verifiers may not know this key before')
    await confirm('Activate')
    expect(await stateOf(second)).toBe(WebKeyState.ACTIVE)
    await rowOf(first)
      .getByText(/tokens until .* still need it/)
      .waitFor()

    await rowOf(first).getByRole('button', { name: 'Roll back' }).click()
    await confirm('Roll back')
    expect(await stateOf(first)).toBe(WebKeyState.ACTIVE)
    await rowOf(first).getByText('active', { exact: true }).waitFor()

    await rowOf(second).getByRole('button', { name: 'Delete' }).click()
    expect(await dialog().textContent()).toMatch(
      /Tokens until .* still need this key\. Without it verifiers refuse them/,
    )
    await confirm('Delete')
    await rowOf(second).waitFor({ state: 'detached' })

    await test.page.getByLabel('Show deleted keys').check()
    await rowOf(second).getByText('deleted', { exact: true }).waitFor()
    expect(test.page.url()).toContain('deleted=shown')
    const { events } = await test.owner.audit.listAuditEvents({ resource: `web_keys/${second}` })
    const [deleted, activated, created] = events.map(({ eventDate }) => timestampMs(eventDate!))
    const times = await rowOf(second).locator('time').all()
    const moments = await Promise.all(
      times.map(async (time) => Date.parse((await time.getAttribute('datetime')) ?? '')),
    )
    expect(moments).toEqual(expect.arrayContaining([created, activated, deleted]))
    expect(
      await rowOf(second)
        .getByRole('button', { name: /^(?!Copy)/ })
        .count(),
    ).toBe(0)
    expect(await test.page.getByRole('img', { name: /^Timeline/ }).getAttribute('aria-label')).toContain(
      `Key ${shortened(second)}: deleted`,
    )
    await test.page.getByLabel('Show deleted keys').uncheck()
    await rowOf(second).waitFor({ state: 'detached' })
  })

  it('rotate by a policy whose schedule is shown before it is set', async () => {
    await test.page.getByRole('button', { name: 'Change policy' }).click()
    const interval = dialog().getByLabel('A key signs for', { exact: true })
    const preview = dialog().getByRole('region', { name: 'Preview' })
    await interval.fill('1')
    await preview.getByText(/Rotation_interval must be at least/).waitFor()
    expect(await dialog().getByRole('button', { name: 'Change policy' }).isDisabled()).toBe(true)
    await interval.fill('30')
    await preview.getByText('What would follow').waitFor()
    await preview.getByRole('listitem').filter({ hasText: 'in 30 d' }).first().waitFor()
    await confirm('Change policy')
    const { policy } = await test.owner.keys.getRotationPolicy({})
    expect(Number(policy?.rotationInterval?.seconds)).toBe(30 * 86_400)
  })

  it('rotate by a policy of which a change here undoes no change elsewhere', async () => {
    await test.page.getByRole('button', { name: 'Change policy' }).click()
    await dialog().getByLabel('A key signs for', { exact: true }).fill('40')
    const retention = { seconds: BigInt(21 * 86_400) }
    await test.owner.keys.updateRotationPolicy({ policy: { retention }, updateMask: { paths: ['retention'] } })
    await test.page.getByRole('definition').filter({ hasText: '21 d' }).waitFor()
    await confirm('Change policy')
    const { policy } = await test.owner.keys.getRotationPolicy({})
    expect([policy?.rotationInterval, policy?.retention].map((length) => Number(length?.seconds) / 86_400)).toEqual([
      40, 21,
    ])
  })
})

describeConsole(
  'a key that is too young to sign',
  (test) => {
    it('is refused in the words of the API', async () => {
      const { webKey } = await test.owner.keys.createWebKey({ config: { config: { case: 'rsa', value: {} } } })
      await test.page
        .getByRole('row')
        .filter({ hasText: shortened(webKey!.keyId) })
        .getByRole('button', { name: 'Activate' })
        .click()
      const dialog = test.page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Activate' }).click()
      await dialog
        .getByRole('alert')
        .getByText(/Verifiers may not know web key .* yet: it can be activated from/)
        .waitFor()
      await dialog.getByText('WEB_KEY_TOO_YOUNG').waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
    })
  },
  { KEYTURN_ACTIVATION_GUARD: 'enforce' },
)
