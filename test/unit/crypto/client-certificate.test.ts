import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createClientCertificateVerifier, parseAuthorities } from '../../../src/crypto/client-certificate.ts'
import { provedCertificate } from '../../../src/domain/identities/client-certificate.ts'
import {
  authorityOf,
  type CertificateOptions,
  CLIENT_AUTH,
  certificateOf,
  der,
  extension,
  newKey,
  SERVER_AUTH,
  type TestCertificate,
} from '../../support/certificates.ts'

const NAME_CONSTRAINTS = '2.5.29.30'
const ANY_PURPOSE = '2.5.29.37.0'

const authority = authorityOf('authority')

const verifierFor = (...authorities: TestCertificate[]) => {
  const parsed = parseAuthorities(authorities.map(({ pem }) => pem).join(''))
  return createClientCertificateVerifier(() => parsed)
}

function verify(certificate: TestCertificate, others: TestCertificate[] = [], by = verifierFor(authority)) {
  const chain = [certificate, ...others].map((each) => each.der)
  return by.verify({ kind: 'presented', thumbprint: certificate.thumbprint, chain }, new Date())
}

const certified = (options: CertificateOptions = {}) => certificateOf({ issuer: authority, ...options })
const problemOf = (options: CertificateOptions) => verify(certified(options)).problem

describe('a certificate of a client', () => {
  it('has its names from the authority that vouches for it', () => {
    const options: CertificateOptions = {
      subject: [
        ['C', 'DE', 0x13],
        ['DC', 'shop', 0x16],
        ['O', ' Shop, "Inc" \\ #1 '],
        ['1.2.3.4', '#ü\u0007'],
      ],
      dns: ['a.example'],
      uris: ['urn:a', 'urn:b'],
    }
    expect(verify(certified(options))).toMatchObject({
      isUsable: true,
      problem: null,
      names: {
        subject: '1.2.3.4=\\#ü\\07,O=\\ Shop\\, \\"Inc\\" \\\\ #1\\ ,DC=shop,C=DE',
        dnsNames: ['a.example'],
        uris: ['urn:a', 'urn:b'],
      },
    })
  })

  it.each<[string, CertificateOptions['subject']]>([
    ['is empty', []],
    ['has a value in the encoding of Teletex', [['CN', 'a', 0x14]]],
    ['has a value that is not of its encoding', [['CN', 'ü', 0x13]]],
  ])('has no subject if that %s', (_, subject) => {
    expect(verify(certified({ subject: subject! })).names?.subject).toBeUndefined()
  })

  it.each(['rsa', 'ed25519'] as const)('may have a key of the kind %s, and so may its authority', (kind) => {
    const by = authorityOf('another', { key: newKey(kind) })
    expect(verify(certificateOf({ issuer: by, key: newKey(kind) }), [], verifierFor(by)).problem).toBeNull()
  })

  it.each<[string, CertificateOptions, string]>([
    ['an RSA key of 1024 bits', { key: newKey('weak') }, 'its key must be RSA with 2048'],
    ['no purpose', { extendedKeyUsage: null }, 'not for the authentication of clients'],
    ['another purpose', { extendedKeyUsage: [SERVER_AUTH] }, 'not for the authentication of clients'],
    ['any purpose', { extendedKeyUsage: [ANY_PURPOSE] }, 'not for the authentication of clients'],
    ['a key for encryption', { keyUsage: '0520' }, 'its key is not for signatures'],
    ['the rights of an authority', { ca: true, extendedKeyUsage: [CLIENT_AUTH] }, 'that of an authority'],
    ['the end of its validity behind it', { notAfter: new Date(Date.now() - 1000) }, 'it has expired'],
    ['the beginning of its validity ahead', { notBefore: new Date(Date.now() + 60_000) }, 'or is not valid yet'],
    ['an authority that signs with SHA-1', { digest: 'sha1' }, 'no trusted authority'],
    ['no authority', { issuer: null }, 'no trusted authority'],
    ['a critical extension that is unknown', { extensions: [extension('1.2.3', true, der(0x05))] }, 'extension 1.2.3'],
    ['an extension twice', { extensions: [extension('2.5.29.37', false, der(0x30))] }, '2.5.29.37 twice'],
    ['a name with a NUL', { dns: ['a.example\0.evil.example'] }, 'is no ASCII'],
    ['a name with letters beyond ASCII', { uris: ['urn:ü'] }, 'is no ASCII'],
  ])('is refused with %s', (_, options, problem) => {
    const verified = verify(certified(options))
    expect(verified.names).toBeNull()
    expect(verified.problem).toContain(problem)
  })

  it('may have further purposes, no key usage, and extensions that are not critical', () => {
    expect(problemOf({ extendedKeyUsage: [SERVER_AUTH, CLIENT_AUTH] })).toBeNull()
    expect(problemOf({ keyUsage: null })).toBeNull()
    expect(problemOf({ extensions: [extension('1.2.3', false, der(0x05))] })).toBeNull()
  })

  it('that cannot be used for names can still be the one that is registered, unless its dates or its key are wrong', () => {
    expect(verify(certificateOf({ extendedKeyUsage: null })).isUsable).toBe(true)
    const unknown = extension('1.2.3', true, der(0x05))
    expect(verify(certificateOf({ extensions: [unknown] }))).toMatchObject({ isUsable: true, names: null })
    expect(verify(certificateOf({ key: newKey('weak') })).isUsable).toBe(false)
    expect(verify(certificateOf({ notAfter: new Date(Date.now() - 1000) })).isUsable).toBe(false)
  })

  it.each<[string, 'subject_dn' | 'san_uri', string]>([
    ['the beginning of its subject', 'subject_dn', 'CN=shop'],
    ['one of its two SPIFFE IDs [X.509-SVID §2]', 'san_uri', 'spiffe://shop/a'],
  ])('does not prove a user by %s', (_, match, value) => {
    const dates = { createdAt: new Date(), expiresAt: null }
    const registered = { kind: 'client_certificate', credentialId: '', match, value, ...dates } as const
    const presented = certified({ subject: [['CN', 'shopkeeper']], uris: ['spiffe://shop/a', 'spiffe://shop/b'] })
    expect(provedCertificate({ credentials: [registered] }, verify(presented), new Date())).toBeUndefined()
  })

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['empty', () => Buffer.alloc(0)],
    ['followed by something', (bytes) => Buffer.concat([bytes, Buffer.from([0])])],
  ])('is nothing if it is %s', (_, change) => {
    const chain = [change(certified().der)]
    expect(verifierFor(authority).verify({ kind: 'presented', thumbprint: 'x', chain }, new Date())).toMatchObject({
      isUsable: false,
      names: null,
    })
  })
})

describe('bytes in the place of a certificate', () => {
  it('are refused, whatever they are, and never vouched for', () => {
    const { der: good } = certified({ dns: ['a.example'], uris: ['urn:a'] })
    const changed = fc
      .array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 })
      .map((changes) => {
        const bytes = Buffer.from(good)
        for (const [at, byte] of changes) bytes[at] = byte
        return bytes
      })
    const verifier = verifierFor(authority)
    fc.assert(
      fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 50 })), (bytes) => {
        fc.pre(!good.equals(bytes))
        const presented = { kind: 'presented', thumbprint: 'x', chain: [bytes, good, bytes] } as const
        expect(verifier.verify(presented, new Date()).names).toBeNull()
      }),
      { numRuns: 300 },
    )
  })
})

describe('an intermediate authority', () => {
  const below = (options: CertificateOptions) => {
    const intermediate = authorityOf('intermediate', { issuer: authority, ...options })
    return verify(certificateOf({ issuer: intermediate }), [intermediate]).problem
  }

  it('vouches for clients if a trusted one has made it', () => {
    expect(below({})).toBeNull()
    expect(below({ keyUsage: null })).toBeNull()
    expect(below({ extendedKeyUsage: [CLIENT_AUTH] })).toBeNull()
    expect(below({ extendedKeyUsage: [ANY_PURPOSE] })).toBeNull()
  })

  it.each<[string, CertificateOptions]>([
    ['that is none', { ca: false }],
    ['that nothing has made', { issuer: null }],
    ['that may not sign certificates', { keyUsage: '0780' }],
    ['for servers', { extendedKeyUsage: [SERVER_AUTH] }],
    ['with a weak key', { key: newKey('weak') }],
    ['that has expired', { notAfter: new Date(Date.now() - 1000) }],
    ['that was signed with SHA-1', { digest: 'sha1' }],
    ['whose names are constrained', { extensions: [extension(NAME_CONSTRAINTS, true, der(0x30))] }],
    [
      'whose names are constrained, and not critically',
      { extensions: [extension(NAME_CONSTRAINTS, false, der(0x30))] },
    ],
  ])('vouches for nothing %s', (_, options) => {
    expect(below(options)).toBe('no trusted authority has issued it')
  })

  it('may have as many below it as it and those above it allow [RFC 5280 §4.2.1.9]', () => {
    const root = authorityOf('root', { ca: 1 })
    const [first, strict] = [authorityOf('first', { issuer: root }), authorityOf('first', { issuer: root, ca: 0 })]
    const problem = (upper: TestCertificate, by: TestCertificate) => {
      const second = authorityOf('second', { issuer: upper })
      return verify(certificateOf({ issuer: second }), [second, upper], verifierFor(by)).problem
    }
    expect(problem(first, first)).toBeNull()
    expect(problem(first, root)).not.toBeNull()
    expect(problem(strict, strict)).not.toBeNull()
    expect(verify(certificateOf({ issuer: first }), [first], verifierFor(root)).problem).toBeNull()
  })

  it('is not replaced by another one with its name', () => {
    const intermediate = authorityOf('intermediate', { issuer: authority })
    const forged = authorityOf('intermediate', { issuer: authority, key: newKey() })
    const client = certificateOf({ issuer: forged })
    expect(verify(client, [forged]).problem).toBeNull()
    const impostor = authorityOf('intermediate', { issuer: authorityOf('authority') })
    expect(verify(certificateOf({ issuer: impostor }), [impostor, intermediate]).problem).not.toBeNull()
    expect(verify(client, [impostor, intermediate, forged]).problem).toBeNull()
  })
})

describe('a file of authorities', () => {
  it('has one or more, and other text', () => {
    expect(parseAuthorities(`# ours\n${authority.pem}\n${authorityOf('other').pem}`)).toHaveLength(2)
  })

  it.each<[string, string, string]>([
    ['nothing', '', 'there is no certificate in it'],
    ['that of a client', certified().pem, 'certificate 1: it is not that of an authority'],
    [
      'a weak one behind a good one',
      `${authority.pem}${authorityOf('weak', { key: newKey('weak') }).pem}`,
      'certificate 2: its key',
    ],
    ['no certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', 'certificate 1: '],
  ])('is refused with %s', (_, pem, message) => {
    expect(() => parseAuthorities(pem)).toThrow(message)
  })

  it('trusts an authority while it is valid', () => {
    const old = authorityOf('old', { notAfter: new Date(Date.now() - 1000) })
    expect(verify(certificateOf({ issuer: old }), [], verifierFor(old)).problem).toContain('no trusted authority')
  })
})
