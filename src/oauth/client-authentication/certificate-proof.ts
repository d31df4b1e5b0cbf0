/**
 * Proves a service user by its client certificate (RFC 8705 §2). From memory if the user has one that fits; before a denial, the user is
 * read from the database.
 *
 * The certificate is verified for every user, known or not.
 */
import type { IncomingMessage } from 'node:http'
import { provedCertificate } from '../../domain/identities/client-certificate.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { ClientCertificateVerifier } from '../../domain/ports/verification.ts'
import type { ClaimedUser } from './claimed-user.ts'

/** What a proof needs. */
export interface CertificateProofOptions {
  /** Undefined: certificates of clients do not count. */
  readonly certificates?: ClientCertificateVerifier
  /** The time at which certificates and credentials must be live. */
  readonly now: () => Date
  readonly contexts: Pick<RequestContext, 'certificateOf' | 'explained'>
}

/**
 * Whether the certificate of the request proves the user, who has the proof then. The log gets the reason if not.
 *
 * @throws {DomainError} `storage_unavailable` if it would be denied and the user cannot be read.
 */
export async function proveCertificate(
  req: IncomingMessage,
  claimed: ClaimedUser,
  { certificates, now, contexts }: CertificateProofOptions,
): Promise<void> {
  const presented = contexts.certificateOf(req)
  if (certificates === undefined || presented.kind !== 'presented') {
    const reason = presented.kind === 'unreadable' ? presented.reason : 'there is none'
    return contexts.explained(req, `the client certificate: ${reason}`)
  }
  const verified = certificates.verify(presented, now())
  const find = () => (claimed.user?.enabled === true ? provedCertificate(claimed.user, verified, now()) : undefined)
  let found = find()
  if (found === undefined && !claimed.isConfirmed) {
    await claimed.confirm()
    found = find()
  }
  if (found !== undefined) claimed.proof = { kind: 'certificate', certificateId: found.certificateId }
  else contexts.explained(req, `the client certificate: ${verified.problem ?? 'the user has none that fits'}`)
}
