/**
 * Clients of the web key service, one for each way to reach it.
 */
import type { DescService } from '@bufbuild/protobuf'
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import {
  createConnectTransport as createFetchConnectTransport,
  createGrpcWebTransport as createFetchGrpcWebTransport,
} from '@connectrpc/connect-web'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'

/** The transports of Connect for Node.js and for browsers, by name. */
export const TRANSPORTS = {
  'gRPC over h2c': (baseUrl, interceptors) => createGrpcTransport({ baseUrl, interceptors }),
  'gRPC-Web over HTTP/1.1': (baseUrl, interceptors) =>
    createGrpcWebTransport({ baseUrl, interceptors, httpVersion: '1.1' }),
  'gRPC-Web over h2c': (baseUrl, interceptors) => createGrpcWebTransport({ baseUrl, interceptors, httpVersion: '2' }),
  'Connect with protobuf over HTTP/1.1': (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: '1.1' }),
  'Connect with JSON over HTTP/1.1': (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: '1.1', useBinaryFormat: false }),
  'Connect with GET over HTTP/1.1': (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: '1.1', useHttpGet: true }),
  'Connect with protobuf over h2c': (baseUrl, interceptors) =>
    createConnectTransport({ baseUrl, interceptors, httpVersion: '2' }),
  'gRPC-Web as in a browser': (baseUrl, interceptors) => createFetchGrpcWebTransport({ baseUrl, interceptors }),
  'Connect as in a browser': (baseUrl, interceptors) => createFetchConnectTransport({ baseUrl, interceptors }),
} as const satisfies Record<string, (baseUrl: string, interceptors: Interceptor[]) => Transport>

/** The name of a transport. */
export type TransportName = keyof typeof TRANSPORTS

/** A client that sends this token, or none. */
export function webKeyClient(
  baseUrl: string,
  token: string | null,
  transport: TransportName = 'Connect with protobuf over HTTP/1.1',
): Client<typeof WebKeyService> {
  return clientOf(WebKeyService, baseUrl, { token, transport })
}

/** A client of any service that sends this token, or none. */
export function clientOf<Service extends DescService>(
  service: Service,
  baseUrl: string,
  { token, transport }: { readonly token: string | null; readonly transport: TransportName },
): Client<Service> {
  const authenticate: Interceptor = (next) => (req) => {
    if (token !== null) req.header.set('authorization', `Bearer ${token}`)
    return next(req)
  }
  return createClient(service, TRANSPORTS[transport](baseUrl, [authenticate]))
}
