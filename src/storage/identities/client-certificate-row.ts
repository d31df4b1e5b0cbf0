/**
 * Client certificates of a service user as rows, in both directions. They are read as JSON together with their user
 * (`service-user-row.ts`).
 */
import { sql, type Transaction } from 'kysely'
import { CERTIFICATE_MATCHES, type ClientCertificate } from '../../domain/identities/client-certificate.ts'
import type { ServiceUser } from '../../domain/identities/service-user.ts'
import type { PublicKeyMacs } from '../../domain/integrity.ts'
import { inChunks } from '../schema/chunks.ts'
import { type BeforeAndNext, differenceOfParts } from '../schema/difference.ts'
import type { Tables } from '../schema/tables.ts'

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
    macs.assert(
      'clientCertificates',
      { userId, certificateId, match, value },
      new Uint8Array(Buffer.from(json.mac, 'hex')),
    )
    const expiresAt = expiration_date === null ? null : new Date(expiration_date)
    return { certificateId, match, value, createdAt: new Date(creation_date), expiresAt }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`client certificate ${certificateId}: ${reason}`, { cause: error })
  }
}

/** Writes the differences, and returns whether there are any. A client certificate never changes. */
export async function writeClientCertificates(
  trx: Transaction<Tables>,
  pairs: readonly BeforeAndNext<ServiceUser>[],
  macs: PublicKeyMacs,
): Promise<boolean> {
  const owned = ({ userId, certificates }: ServiceUser) => certificates.map((part) => ({ userId, part }))
  const { removed, added } = differenceOfParts(pairs, owned, ({ part }) => JSON.stringify(part))
  if (removed.length > 0) {
    const ids = removed.map(({ part }) => part.certificateId)
    await trx.deleteFrom('client_certificates').where(sql<boolean>`certificate_id = any(${ids}::uuid[])`).execute()
  }
  for (const some of inChunks(added)) {
    const rows = some.map(({ userId, part }) => ({
      certificate_id: part.certificateId,
      user_id: userId,
      match: part.match,
      value: part.value,
      creation_date: part.createdAt,
      expiration_date: part.expiresAt,
      mac: macs.of('clientCertificates', { ...part, userId }),
    }))
    await trx.insertInto('client_certificates').values(rows).execute()
  }
  return removed.length + added.length > 0
}
