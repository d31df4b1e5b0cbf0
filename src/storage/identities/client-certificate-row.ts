/**
 * Client certificates of a service user as rows, in both directions. They are read as JSON together with their user
 * (`service-user-row.ts`).
 */
import { sql, type Transaction } from 'kysely'
import { CERTIFICATE_MATCHES, type ClientCertificate } from '../../domain/identities/client-certificate.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import type { Tables } from '../schema/tables.ts'
import { difference } from './difference.ts'

interface ClientCertificateJson {
  readonly certificate_id: string
  readonly match: string
  readonly value: string
  readonly creation_date: Date | string
  readonly expiration_date: Date | string | null
  /** Hexadecimal. */
  readonly mac: string
}

/** @throws {Error} if its MAC is wrong. */
export function toClientCertificate(
  userId: string,
  json: ClientCertificateJson,
  macs: PublicKeyMacs,
): ClientCertificate {
  const { certificate_id: certificateId, value, creation_date, expiration_date } = json
  try {
    const match = CERTIFICATE_MATCHES.find((each) => each === json.match)
    if (match === undefined) throw new Error(`there is no match ${json.match}`)
    macs.assertClientCertificate(userId, { certificateId, match, value }, new Uint8Array(Buffer.from(json.mac, 'hex')))
    const expiresAt = expiration_date === null ? null : new Date(expiration_date)
    return { certificateId, match, value, createdAt: new Date(creation_date), expiresAt }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`client certificate ${certificateId}: ${reason}`, { cause: error })
  }
}

/** Writes the difference, and returns whether there is one. A client certificate never changes. */
export async function writeClientCertificates(
  trx: Transaction<Tables>,
  [before, next]: readonly [before: readonly ClientCertificate[], next: readonly ClientCertificate[]],
  { userId, macs }: { readonly userId: string; readonly macs: PublicKeyMacs },
): Promise<boolean> {
  const { removed, added } = difference(before, next, (certificate) => JSON.stringify(certificate))
  if (removed.length > 0) {
    const ids = removed.map(({ certificateId }) => certificateId)
    await trx.deleteFrom('client_certificates').where(sql<boolean>`certificate_id = any(${ids}::uuid[])`).execute()
  }
  if (added.length > 0) {
    const rows = added.map((certificate) => ({
      certificate_id: certificate.certificateId,
      user_id: userId,
      match: certificate.match,
      value: certificate.value,
      creation_date: certificate.createdAt,
      expiration_date: certificate.expiresAt,
      mac: macs.ofClientCertificate(userId, certificate),
    }))
    await trx.insertInto('client_certificates').values(rows).execute()
  }
  return removed.length + added.length > 0
}
