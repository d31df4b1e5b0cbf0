import { createHmac, generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { compactDecrypt, decodeProtectedHeader } from 'jose'
import { createIntegrity, deriveKeys, generateIntegrity, openIntegrity } from '../../../src/crypto/integrity-key.ts'
import { generateMasterKey, parseMasterKeys } from '../../../src/crypto/master-keys.ts'
import { createKeyResealer, createKeySealer } from '../../../src/crypto/sealed-key.ts'

const [older, newer] = [generateMasterKey(), generateMasterKey()]
const masterKeys = parseMasterKeys(older)
const idOf = (masterKey: string) => masterKey.split(':')[0]!
const texts = ['key-1', 'ES256', '{}']

describe('an integrity key', () => {
  it('is sealed like a private key, and good for the same when it is opened', async () => {
    const made = await generateIntegrity(masterKeys)
    const header = decodeProtectedHeader(made.sealedIntegrityKey)
    expect(header).toMatchObject({ alg: 'A256GCMKW', enc: 'A256GCM', kid: idOf(older), cty: 'integrity-key' })
    const opened = await openIntegrity(made.sealedIntegrityKey, masterKeys)
    opened.publicKeys.assert('webKeys', texts, made.publicKeys.of('webKeys', texts))
    const { secret, hash } = made.secrets.clientSecrets.generate()
    expect(opened.secrets.clientSecrets.matches(secret, [hash])).toBe(true)
  })

  it('has 32 bytes, which other programs can unseal with the master key [RFC 7516 §5.2]', async () => {
    const { sealedIntegrityKey } = await generateIntegrity(masterKeys)
    const { plaintext } = await compactDecrypt(sealedIntegrityKey, masterKeys[0].key)
    expect(plaintext).toHaveLength(32)
    const derived = createIntegrity(deriveKeys(plaintext))
    const opened = await openIntegrity(sealedIntegrityKey, masterKeys)
    opened.publicKeys.assert('webKeys', texts, derived.publicKeys.of('webKeys', texts))
  })

  it('is the same when another master key has sealed it', async () => {
    const made = await generateIntegrity(masterKeys)
    const both = parseMasterKeys(`${newer},${older}`)
    const resealed = await createKeyResealer(both).reseal({ kind: 'integrity_key', sealed: made.sealedIntegrityKey })
    expect(decodeProtectedHeader(resealed).kid).toBe(idOf(newer))
    const opened = await openIntegrity(resealed, parseMasterKeys(newer))
    opened.publicKeys.assert('webKeys', texts, made.publicKeys.of('webKeys', texts))
  })

  it('is not opened without its master key, which is named', async () => {
    const { sealedIntegrityKey } = await generateIntegrity(masterKeys)
    await expect(openIntegrity(sealedIntegrityKey, parseMasterKeys(newer))).rejects.toThrow(
      `the integrity key of the instance cannot be opened: master key "${idOf(older)}" sealed it and is not configured`,
    )
  })

  it('cannot be a sealed private key, nor a sealed private key it', async () => {
    const sealer = createKeySealer(masterKeys)
    const { privateKey } = generateKeyPairSync('ed25519')
    const pkcs8 = new Uint8Array(privateKey.export({ format: 'der', type: 'pkcs8' }))
    const owner = { keyId: 'key-1', algorithm: 'EdDSA' } as const
    const { sealedIntegrityKey } = await generateIntegrity(masterKeys)
    for (const bytes of [pkcs8, pkcs8.slice(-32)]) {
      await expect(openIntegrity(await sealer.seal(bytes, owner), masterKeys)).rejects.toThrow('for something else')
    }
    await expect(sealer.open(sealedIntegrityKey, owner)).rejects.toThrow('it was sealed for something else')
    await expect(sealer.use(sealedIntegrityKey, owner, () => {})).rejects.toThrow('it was sealed for something else')
  })

  it('derives another key for each use, and shows none of them', async () => {
    const derived = deriveKeys(new Uint8Array(32).fill(1))
    const keys = Object.entries(derived).map(([use, key]) => ({ use, key: Buffer.from(key).toString('hex') }))
    const sharing = keys.filter(({ use, key }) => keys.some((other) => other.use !== use && other.key === key))
    expect(sharing.map(({ use }) => use)).toEqual([])
    expect(inspect(createIntegrity(derived), { depth: null })).not.toContain(keys[0]!.key)
  })
})

describe('the mac of a row', () => {
  const keys = deriveKeys(new Uint8Array(32).fill(1))
  const { publicKeys } = createIntegrity(keys)

  it.each([0, 1, 2])('covers text %i of the row', (changed) => {
    const mac = publicKeys.of('credentials', texts)
    expect(() => publicKeys.assert('credentials', texts, mac)).not.toThrow()
    const others = texts.with(changed, 'other')
    expect(() => publicKeys.assert('credentials', others, mac)).toThrow('its mac does not fit')
  })

  it('is the HMAC-SHA256 of the texts as a JSON array [RFC 2104 §2]', () => {
    const mac = createHmac('sha256', keys.webKeys).update('["key-1","ES256","{}"]').digest()
    expect(Buffer.from(publicKeys.of('webKeys', texts))).toEqual(mac)
  })

  it('tells a web key from a revoked one', () => {
    expect(publicKeys.of('webKeys', texts)).not.toEqual(publicKeys.of('revokedWebKeys', texts))
  })
})
