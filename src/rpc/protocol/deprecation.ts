/**
 * The headers of deprecated services: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` with the successor (RFC 5829 §3.2).
 * They are HTTP headers, so gRPC, gRPC-Web, Connect and plain JSON clients receive them.
 */
import type { DescService } from '@bufbuild/protobuf'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../../gen/iam/webkey/v2beta/web_key_service_pb.js'

const SINCE = new Date('2026-11-21T00:00:00Z')

/** The earliest removal; in no case before the next major version (Spec §9). */
const UNTIL = new Date('2027-11-30T23:59:59Z')

/** The service to call instead; undefined if the service is not deprecated. */
export function successorOf({ typeName }: DescService): DescService | undefined {
  return typeName === BetaWebKeyService.typeName ? WebKeyService : undefined
}

/** The headers of every response of a method; none of a service that is not deprecated. */
export function deprecationHeaders(service: DescService, method: string): Readonly<Record<string, string>> {
  const successor = successorOf(service)
  if (successor === undefined) return {}
  return {
    deprecation: `@${SINCE.getTime() / 1000}`,
    sunset: UNTIL.toUTCString(),
    link: `</${successor.typeName}/${method}>; rel="successor-version"`,
  }
}
