/**
 * `iam.user.v2.ClientCertificateService`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type CertificateMatch,
  ClientCertificateSchema,
  type ClientCertificate as WireClientCertificate,
} from '../../../gen/iam/user/v2/client_certificate_pb.js'
import type { ClientCertificateService } from '../../../gen/iam/user/v2/client_certificate_service_pb.js'
import type { ClientCertificates } from '../../app/identities/client-certificates.ts'
import type { ClientCertificate } from '../../domain/identities/client-certificate.ts'
import { actorOf } from '../authorization/actor.ts'
import { fromDate, toDate } from '../messages/fields.ts'
import { listOldestFirst } from '../messages/paging.ts'

const TO_WIRE = {
  subject_dn: 'subjectDn',
  san_dns: 'sanDns',
  san_uri: 'sanUri',
  thumbprint: 'thumbprint',
} as const satisfies Record<ClientCertificate['match'], CertificateMatch['match']['case']>

const FROM_WIRE = {
  subjectDn: 'subject_dn',
  sanDns: 'san_dns',
  sanUri: 'san_uri',
  thumbprint: 'thumbprint',
} as const satisfies Record<NonNullable<CertificateMatch['match']['case']>, ClientCertificate['match']>

const sortKeyOf = ({ createdAt, certificateId }: ClientCertificate) => ({ date: createdAt, id: certificateId })

/** Answers the calls of the service. */
export function clientCertificateService(
  certificates: ClientCertificates,
): ServiceImpl<typeof ClientCertificateService> {
  return {
    async addClientCertificate(req, context) {
      const expiresAt = toDate(req.expirationDate, 'expiration_date')
      const facts = { ...toMatch(req.match), expiresAt }
      return { certificate: fromClientCertificate(await certificates.add(actorOf(context), req.userId, facts)) }
    },

    async listClientCertificates(req, context) {
      const { items, nextPageToken } = await listOldestFirst(
        req,
        await certificates.list(actorOf(context), req.userId),
        sortKeyOf,
      )
      return { certificates: items.map(fromClientCertificate), nextPageToken }
    },

    async removeClientCertificate(req, context) {
      await certificates.remove(actorOf(context), req.userId, req.certificateId)
      return {}
    },
  }
}

/** What a request says of a certificate. The rules of the proto must have been checked. */
export function toMatch(wire: CertificateMatch | undefined): Pick<ClientCertificate, 'match' | 'value'> {
  const { case: name, value } = wire?.match ?? {}
  if (name === undefined || value === undefined) throw new Error('the rules of the proto have not been checked')
  return { match: FROM_WIRE[name], value }
}

/** What of a certificate must be equal, on the wire. */
export function fromMatch({ match, value }: Pick<ClientCertificate, 'match' | 'value'>) {
  return { match: { case: TO_WIRE[match], value } }
}

function fromClientCertificate({
  certificateId,
  match,
  value,
  createdAt,
  expiresAt,
}: ClientCertificate): WireClientCertificate {
  return create(ClientCertificateSchema, {
    certificateId,
    match: fromMatch({ match, value }),
    creationDate: timestampFromDate(createdAt),
    ...fromDate('expirationDate', expiresAt),
  })
}
