/**
 * Clients of the web key service, one for each way to reach it.
 */
import {
  create,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import {
  createConnectTransport as createFetchConnectTransport,
  createGrpcWebTransport as createFetchGrpcWebTransport,
} from '@connectrpc/connect-web'
import { credentials, Client as GrpcJsClient, Metadata, type ServiceError } from '@grpc/grpc-js'
import { WebKeyService } from '../../gen/iam/webkey/v2beta/web_key_service_pb.js'
import type { AdminCredentials } from './keyturn.ts'

const SERVICE_SCOPE = 'openid urn:service:iam:org:project:id:service:aud'

/** Gets an access token with the secret in the body. */
export async function requestToken(
  { token_endpoint, client_id, client_secret }: AdminCredentials,
  scope = SERVICE_SCOPE,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const response = await fetch(token_endpoint, { method: 'POST', body, headers })
  const answer = (await response.json()) as { access_token?: string }
  if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`)
  return answer.access_token
}

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

/** A call with @grpc/grpc-js, which shares no code with the server. */
export async function callWithGrpcJs<Method extends DescMethodUnary>(
  url: string,
  token: string | null,
  method: Method,
  request: MessageInitShape<Method['input']>,
): Promise<MessageShape<Method['output']>> {
  const client = new GrpcJsClient(new URL(url).host, credentials.createInsecure())
  const metadata = new Metadata()
  if (token !== null) metadata.set('authorization', `Bearer ${token}`)
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<Method['input']>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes) as MessageShape<Method['output']>,
        create(method.input, request) as MessageShape<Method['input']>,
        metadata,
        (error: ServiceError | null, response) => {
          if (response === undefined) reject(error)
          else resolve(response)
        },
      )
    })
  } finally {
    client.close()
  }
}
