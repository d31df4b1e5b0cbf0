/**
 * The API of a running server, called as the caller that options, variables or a context name, and the errors of calls.
 */
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { createTokenInterceptor } from '@keyturn/client/token-interceptor'
import { type ErrorInfo, ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js'
import { ConnectionError, connectionCode, connectionFailure } from './connection/connection-failure.ts'
import { type ConnectionOptions, findTarget, type Target } from './connection/target.ts'
import { TokenRefusal, tokensOf } from './connection/token-request.ts'
import type { Io } from './io.ts'

/** The timeout of a call, in milliseconds. Generating a large RSA key takes seconds. */
const TIMEOUT = 60_000

/** The largest response that is read, in bytes: pages of the API have up to 1,000 items. */
const MAX_BYTES = 64 << 20

/** The largest page of the API. */
const PAGE_SIZE = 1000

export type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never

export class Api {
  readonly target: Target
  readonly transport: Transport

  constructor(target: Target, transport: Transport) {
    this.target = target
    this.transport = transport
  }

  async call<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageInitShape<Input>,
  ): Promise<MessageShape<Output>> {
    const called = this.transport.unary(method, undefined, undefined, undefined, request)
    const { message } = await called.catch((error: unknown) => {
      throw this.explained(error)
    })
    return message
  }

  /** What a call failed with: what there was before an answer of the API, which Connect has as a cause, or the refusal itself. */
  explained(error: unknown): unknown {
    if (!(error instanceof ConnectError)) return error
    if (error.cause instanceof TokenRefusal || error.cause instanceof ConnectionError) return error.cause
    const { base_url } = this.target
    const reason = error.code === Code.DeadlineExceeded ? new DOMException(error.rawMessage, 'TimeoutError') : error
    return connectionCode(reason) === undefined ? error : connectionFailure(reason, base_url)
  }

  /** The items of a list (AIP-158), in a field of its responses, which may have pages. One is read when its first item is consumed. */
  async *items<Input extends DescMessage, Output extends DescMessage, Field extends keyof MessageShape<Output>>(
    method: DescMethodUnary<Input, Output>,
    field: Field,
    request?: MessageInitShape<Input>,
  ): AsyncGenerator<ItemOf<MessageShape<Output>[Field]>, void> {
    let pageToken = ''
    do {
      const page = { pageSize: PAGE_SIZE, ...request, pageToken } as unknown as MessageInitShape<Input>
      const response = (await this.call(method, page)) as MessageShape<Output> & { readonly nextPageToken?: string }
      yield* response[field] as ItemOf<MessageShape<Output>[Field]>[]
      pageToken = response.nextPageToken ?? ''
    } while (pageToken !== '')
  }

  async all<Input extends DescMessage, Output extends DescMessage, Field extends keyof MessageShape<Output>>(
    method: DescMethodUnary<Input, Output>,
    field: Field,
    request?: MessageInitShape<Input>,
  ): Promise<ItemOf<MessageShape<Output>[Field]>[]> {
    const all: ItemOf<MessageShape<Output>[Field]>[] = []
    for await (const item of this.items(method, field, request)) all.push(item)
    return all
  }
}

export async function openApi(io: Pick<Io, 'env'>, options: ConnectionOptions): Promise<Api> {
  return await openApiOf(await findTarget(io, options))
}

export async function openApiOf(target: Target): Promise<Api> {
  const { base_url: baseUrl, tls } = target
  const tokens = tokensOf(target)
  // Before the first call, so that a refusal is not one of the call.
  await tokens.token()
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: '1.1',
    useBinaryFormat: false,
    nodeOptions: tls,
    acceptCompression: [],
    readMaxBytes: MAX_BYTES,
    defaultTimeoutMs: TIMEOUT,
    interceptors: [createTokenInterceptor(tokens)],
  })
  return new Api(target, transport)
}

/** The details of a refused call; undefined for another error. */
export function infoOf(error: unknown): ErrorInfo | undefined {
  return error instanceof ConnectError ? error.findDetails(ErrorInfoSchema)[0] : undefined
}
