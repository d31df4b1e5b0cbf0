/**
 * Clients of services for their unary methods and those whose response streams, in the shape of `createClient` of `@connectrpc/connect`, which takes a tenth of the time of
 * a command to load. Of the options of a call only `signal` is taken, for a stream.
 */
import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
} from '@bufbuild/protobuf'
import type { CallOptions, Client, Transport } from '@connectrpc/connect'

/** A client of one service. It lacks methods whose requests stream, of which Keyturn's API has none. */
export function createClient<Service extends DescService>(service: Service, transport: Transport): Client<Service> {
  const calls = service.methods.filter(isUnary).map((method) => {
    const call = async (input: MessageInitShape<DescMessage>) =>
      (await transport.unary(method, undefined, undefined, undefined, input)).message
    return [method.localName, call] as const
  })
  const streams = service.methods.filter(isServerStreaming).map((method) => {
    const call = (input: MessageInitShape<DescMessage>, options: CallOptions = {}) =>
      streamOf(transport, method, { input, options })
    return [method.localName, call] as const
  })
  return Object.fromEntries<unknown>([...calls, ...streams]) as unknown as Client<Service>
}

function isUnary(method: DescMethod): method is DescMethod & DescMethodUnary {
  return method.methodKind === 'unary'
}

function isServerStreaming(method: DescMethod): method is DescMethod & DescMethodServerStreaming {
  return method.methodKind === 'server_streaming'
}

async function* streamOf(
  transport: Transport,
  method: DescMethodServerStreaming,
  { input, options }: { readonly input: MessageInitShape<DescMessage>; readonly options: CallOptions },
): AsyncGenerator<unknown> {
  async function* one() {
    yield input
  }
  yield* (await transport.stream(method, options.signal, undefined, undefined, one())).message
}
