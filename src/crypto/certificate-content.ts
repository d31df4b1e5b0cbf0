/**
 * What an X.509 certificate says (RFC 5280 §4), as far as it decides who its subject is and what it may be used for.
 *
 * Read from its DER, because Node.js joins names into texts, and does not tell which extensions are critical. An unknown critical
 * extension, such as name constraints, makes a certificate unusable.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { X509Certificate } from 'node:crypto'
import { type DistinguishedName, formatDistinguishedName } from '../domain/identities/distinguished-name.ts'
import { contentOf, contextTag, type DerValue, objectIdentifierOf, readDer, TAG, valuesIn } from './der.ts'

export interface CertificateContent {
  readonly x509: X509Certificate
  /** In the one spelling of `formatDistinguishedName`; undefined if it is empty, or has a value that is no plain text. */
  readonly subject: string | undefined
  readonly dnsNames: readonly string[]
  readonly uris: readonly string[]
  /** Null: it is no authority. */
  readonly authority: { readonly maxIntermediates: number } | null
  /** Undefined: the certificate does not restrict them. */
  readonly purposes: readonly string[] | undefined
  /** Undefined: the certificate does not restrict them. The first bit of the first byte is that for signatures. */
  readonly keyUsage: Buffer | undefined
  readonly signatureAlgorithm: string
}

const BASIC_CONSTRAINTS = '2.5.29.19'
const KEY_USAGE = '2.5.29.15'
const EXTENDED_KEY_USAGE = '2.5.29.37'
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17'
const NAME_CONSTRAINTS = '2.5.29.30'
const UNDERSTOOD: readonly string[] = [BASIC_CONSTRAINTS, KEY_USAGE, EXTENDED_KEY_USAGE, SUBJECT_ALTERNATIVE_NAME]

/** The choices of `GeneralName` (RFC 5280 §4.2.1.6). */
const DNS_NAME = contextTag(2, 'primitive')
const URI = contextTag(6, 'primitive')

const VISIBLE_ASCII = /^[\x21-\x7e]+$/

/** Parses a certificate and nothing else. @throws {Error} if it is none. */
export function parseCertificate(der: Uint8Array): X509Certificate {
  const x509 = new X509Certificate(der)
  // What comes behind it would be ignored.
  if (!x509.raw.equals(der)) throw new Error('there is more than a certificate')
  return x509
}

/** Reads a certificate. @throws {Error} if it says something that is not understood. */
export function readCertificate(x509: X509Certificate): CertificateContent {
  const [certificate] = readDer(x509.raw)
  const [body, signatureAlgorithm] = valuesIn(certificate, TAG.sequence)
  const fields = valuesIn(body, TAG.sequence)
  if (fields[0]?.tag !== contextTag(0, 'constructed')) throw new Error('it is not of version 3')
  const extensions = extensionsIn(fields.find(({ tag }) => tag === contextTag(3, 'constructed')))
  const names = extensions.get(SUBJECT_ALTERNATIVE_NAME)
  const purposes = extensions.get(EXTENDED_KEY_USAGE)
  const keyUsage = extensions.get(KEY_USAGE)
  return {
    x509,
    subject: subjectIn(fields[5]),
    dnsNames: textsIn(names, DNS_NAME),
    uris: textsIn(names, URI),
    authority: authorityIn(extensions.get(BASIC_CONSTRAINTS)),
    purposes: purposes && valuesIn(readDer(purposes)[0], TAG.sequence).map(objectIdentifierOf),
    keyUsage: keyUsage && contentOf(readDer(keyUsage)[0], TAG.bitString).subarray(1),
    signatureAlgorithm: objectIdentifierOf(valuesIn(signatureAlgorithm, TAG.sequence)[0]),
  }
}

/** @throws {Error} if one is there twice, or is critical and not understood. */
function extensionsIn(field: DerValue | undefined): ReadonlyMap<string, Buffer> {
  const extensions = new Map<string, Buffer>()
  if (field === undefined) return extensions
  for (const each of valuesIn(readDer(field.content)[0], TAG.sequence)) {
    const [oid, ...others] = valuesIn(each, TAG.sequence)
    const name = objectIdentifierOf(oid)
    const isCritical = others.length > 1 && contentOf(others[0], TAG.boolean)[0] !== 0
    if (extensions.has(name)) throw new Error(`it has the extension ${name} twice`)
    if (name === NAME_CONSTRAINTS || (isCritical && !UNDERSTOOD.includes(name)))
      throw new Error(`it has the extension ${name}, which is not understood`)
    extensions.set(name, contentOf(others.at(-1), TAG.octetString))
  }
  return extensions
}

function authorityIn(value: Buffer | undefined): CertificateContent['authority'] {
  if (value === undefined) return null
  const [first, second] = valuesIn(readDer(value)[0], TAG.sequence)
  if (first?.tag !== TAG.boolean || first.content[0] === 0) return null
  if (second === undefined) return { maxIntermediates: Number.POSITIVE_INFINITY }
  const length = contentOf(second, TAG.integer)
  return { maxIntermediates: length.length === 1 ? length.readInt8(0) : Number.POSITIVE_INFINITY }
}

/** @throws {Error} if one has characters that names of this kind cannot have. */
function textsIn(names: Buffer | undefined, tag: number): string[] {
  if (names === undefined) return []
  return valuesIn(readDer(names)[0], TAG.sequence)
    .filter((name) => name.tag === tag)
    .map(({ content }) => {
      const text = content.toString('latin1')
      if (!VISIBLE_ASCII.test(text)) throw new Error('an alternative name is no ASCII')
      return text
    })
}

/** In a certificate the root of the directory comes first, in the text of the name last (RFC 4514 §2.1). */
function subjectIn(field: DerValue | undefined): string | undefined {
  const parts = valuesIn(field, TAG.sequence).toReversed()
  const name = parts.map((part) =>
    valuesIn(part, TAG.set).map((attribute) => {
      const [type, value] = valuesIn(attribute, TAG.sequence)
      return { type: objectIdentifierOf(type), value: textOf(value) }
    }),
  )
  const isText = name.length > 0 && name.flat().every(({ value }) => value !== undefined)
  return isText ? formatDistinguishedName(name as DistinguishedName) : undefined
}

/** Undefined for encodings that are not used any more, and for what is not of its encoding. */
function textOf(value: DerValue | undefined): string | undefined {
  switch (value?.tag) {
    case TAG.utf8String:
      return isUtf8(value.content) ? value.content.toString() : undefined
    case TAG.printableString:
    case TAG.ia5String:
    case TAG.numericString:
      return isAscii(value.content) ? value.content.toString('latin1') : undefined
    default:
      return undefined
  }
}
