import { describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeyResealer, masterKeyOf } from '../../../src/crypto/sealed-key.ts'
import { createWebhookSigner } from '../../../src/crypto/webhook-signer.ts'

const [older, newer] = [generateMasterKey(), generateMasterKey()]
const idOf = (masterKey: string) => masterKey.split(':')[0]!
const signerWith = (masterKeys: string) => createWebhookSigner(parseMasterKeys(masterKeys))
const message = { id: 'message', at: new Date(), body: '{"text":"\u00e4\u{1f511}"}' }

describe('a signing secret', () => {
  it('signs so that the library of Standard Webhooks verifies it, and nothing else', async () => {
    const signer = signerWith(newer)
    const { secret, sealed } = await signer.generateSecret('hook')
    const headers = await signer.headersFor(message, { webhookId: 'hook', sealed: [sealed] })
    expect(new Webhook(secret).verify(message.body, headers)).toEqual(JSON.parse(message.body))
    for (const other of [
      { ...headers, 'webhook-id': 'other' },
      { ...headers, 'webhook-signature': 'v1,AAAA' },
    ])
      expect(() => new Webhook(secret).verify(message.body, other)).toThrow('No matching signature')
  })

  it('is sealed for one webhook, and not opened for another or in place of another key', async () => {
    const signer = signerWith(newer)
    const { sealed } = await signer.generateSecret('hook')
    await expect(signer.headersFor(message, { webhookId: 'other', sealed: [sealed] })).rejects.toThrow(
      'the signing secret of webhook other cannot be opened: it was sealed for something else',
    )
    const resealer = createKeyResealer(parseMasterKeys(newer))
    await expect(resealer.assertOpens({ kind: 'integrity_key', sealed })).rejects.toThrow(
      'it was sealed for something else',
    )
  })

  it('is the same after it is resealed with another master key, which opens it alone', async () => {
    const { secret, sealed } = await signerWith(older).generateSecret('hook')
    await expect(signerWith(newer).headersFor(message, { webhookId: 'hook', sealed: [sealed] })).rejects.toThrow(
      `master key "${idOf(older)}" sealed it and is not configured`,
    )
    const resealer = createKeyResealer(parseMasterKeys(`${newer},${older}`))
    const resealed = await resealer.reseal({ kind: 'webhook_secret', webhookId: 'hook', sealed })
    expect(masterKeyOf(resealed)).toBe(idOf(newer))
    const headers = await signerWith(newer).headersFor(message, { webhookId: 'hook', sealed: [resealed] })
    expect(new Webhook(secret).verify(message.body, headers)).toEqual(JSON.parse(message.body))
  })
})
