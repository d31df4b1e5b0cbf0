/**
 * A client of a running server: gets access tokens for the caller and calls the API with them.
 */
import type { DescService } from '@bufbuild/protobuf'
import { type Client, Code, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { createTokenInterceptor } from '@keyturn/client/token-interceptor'
import { causeOfCall } from './api-error.ts'
import { connectionCode, connectionFailure } from './connection/connection-failure.ts'
import { type ConnectionOptions, findTarget, type Target } from './connection/target.ts'
import type { Io } from './io.ts'
import { tokensOf } from './token-request.ts'

/** The timeout of a call, in milliseconds. Generating a large RSA key takes seconds. */
const TIMEOUT = 60_000

/** The largest response that is read, in bytes: pages of the API have up to 1,000 items. */
const MAX_BYTES = 64 << 20

/** A transport to the API, authenticated as the caller that options, variables or a context name. Several clients can share it. */
export async function openApi(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Transport> {
  return await openApiOf(await findTarget(io, options))
}

/** A transport to the API of a target. */
export async function openApiOf(target: Target): Promise<Transport> {
  const { base_url: baseUrl, tls } = target
  const tokens = tokensOf(target)
  // Before the first call, so that a refusal is not one of the call.
  await tokens.token()
  return createConnectTransport({
    baseUrl,
    httpVersion: '1.1',
    useBinaryFormat: false,
    nodeOptions: tls,
    acceptCompression: [],
    readMaxBytes: MAX_BYTES,
    defaultTimeoutMs: TIMEOUT,
    interceptors: [explainingFailures(target), createTokenInterceptor(tokens)],
  })
}

/** A client of one service. */
export async function connect<Service extends DescService>(
  io: Pick<Io, 'env'>,
  options: ConnectionOptions,
  service: Service,
): Promise<Client<Service>> {
  return createClient(service, await openApi(io, options))
}

/** Makes a connection that fails a `ConnectionError`, which is then the cause of what Connect throws. */
function explainingFailures({ base_url, tls }: Target): Interceptor {
  const explained = (error: unknown): unknown => {
    const cause = causeOfCall(error)
    if (cause !== error) return cause
    const isTimeout = error instanceof ConnectError && error.code === Code.DeadlineExceeded
    const reason = isTimeout ? new DOMException(error.rawMessage, 'TimeoutError') : error
    return connectionCode(reason) === undefined ? error : connectionFailure(reason, base_url, tls)
  }
  async function* explaining<Message>(messages: AsyncIterable<Message>): AsyncIterable<Message> {
    try {
      yield* messages
    } catch (error) {
      throw explained(error)
    }
  }
  return (next) => async (request) => {
    try {
      const response = await next(request)
      return response.stream ? { ...response, message: explaining(response.message) } : response
    } catch (error) {
      throw explained(error)
    }
  }
}
