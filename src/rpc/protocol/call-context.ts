/**
 * The context of the request that an RPC came in, for code that has only the context values of the RPC.
 */
import { Code, type ConnectError, type ContextValues, createContextKey, createContextValues } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js'
import type { PresentedCertificate } from '../../domain/identities/token-binding.ts'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import type { StreamOrigin } from '../public/stream-limiter.ts'

const REQUEST = createContextKey<CallRequest | undefined>(undefined, {
  description: 'the request that the call came in',
})
interface CallRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/** What a request asks for, before any conversion: a GET or a REST path becomes a call by POST. */
export interface RequestTarget {
  readonly method: string
  /** In the normal form of URLs, without the query. */
  readonly path: string
}

const CUT_OFF = createContextKey<() => void>(() => {}, { description: 'ends the call at once' })

export class CallContexts {
  readonly #requestContext: RequestContext

  constructor(requestContext: RequestContext) {
    this.#requestContext = requestContext
  }

  /**
   * The context values of a new call.
   *
   * @param cutOff Ends the call at once, and discards what the client has not received yet.
   */
  valuesFor(request: CallRequest, cutOff: () => void): ContextValues {
    return createContextValues().set(REQUEST, request).set(CUT_OFF, cutOff)
  }

  originOf(values: ContextValues): StreamOrigin {
    const request = values.get(REQUEST) ?? values
    return {
      address: this.#requestContext.addressOf(request),
      connection: this.#requestContext.connectionOf(request),
      cutOff: values.get(CUT_OFF),
    }
  }

  targetOf(values: ContextValues): RequestTarget {
    const { method = '', url = '/' } = values.get(REQUEST) ?? {}
    return { method, path: new URL(`http://localhost${url}`).pathname }
  }

  certificateOf(values: ContextValues): PresentedCertificate {
    return this.#requestContext.certificateOf(values.get(REQUEST) ?? values)
  }

  /** Records the authenticated caller. */
  identified(values: ContextValues, userId: string): void {
    const request = values.get(REQUEST)
    if (request !== undefined) this.#requestContext.identified(request, userId)
  }

  /** Records the error that is sent. */
  refused(values: ContextValues, error: ConnectError): void {
    const request = values.get(REQUEST)
    if (request !== undefined) this.#requestContext.refused(request, labelOf(error))
  }
}

/** The reason of an error. Without a reason its code, such as `DEADLINE_EXCEEDED`. */
export function labelOf(error: ConnectError): string {
  const code = Code[error.code].replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  return error.findDetails(ErrorInfoSchema)[0]?.reason ?? code
}
