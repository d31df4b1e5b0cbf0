/**
 * The headers of deprecated services: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` with the successor (RFC 5829 §3.2).
 * They are HTTP headers, so gRPC, gRPC-Web, Connect and plain JSON clients receive them.
 */
import type { DescService } from '@bufbuild/protobuf'
import { WebKeyService } from '../../../gen/iam/webkey/v2/web_key_service_pb.js'
import { WebKeyService as BetaWebKeyService } from '../../../gen/iam/webkey/v2beta/web_key_service_pb.js'

interface Deprecation {
  readonly since: Date
  /** The earliest removal; in no case before the next major version (Spec §9). */
  readonly until: Date
  readonly successor: DescService
}

const DEPRECATIONS: ReadonlyMap<string, Deprecation> = new Map([
  [
    BetaWebKeyService.typeName,
    {
      since: new Date('2026-11-21T00:00:00Z'),
      until: new Date('2027-11-30T23:59:59Z'),
      successor: WebKeyService,
    },
  ],
])

/** The service to call instead; undefined if the service is not deprecated. */
export function successorOf({ typeName }: DescService): DescService | undefined {
  return DEPRECATIONS.get(typeName)?.successor
}

/** The headers of every response at a path; none for a service that is not deprecated. */
export function deprecationHeaders(path: string): Readonly<Record<string, string>> {
  const [, service = '', method = ''] = path.split('/')
  const deprecation = DEPRECATIONS.get(service)
  if (deprecation === undefined) return {}
  const { since, until, successor } = deprecation
  return {
    deprecation: `@${Math.floor(since.getTime() / 1000)}`,
    sunset: until.toUTCString(),
    link: `</${successor.typeName}/${method}>; rel="successor-version"`,
  }
}
