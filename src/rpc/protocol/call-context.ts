/** The HTTP request that a call came in, for code that has only the context values of the call. */
import type { IncomingMessage } from 'node:http'
import {
  Code,
  type ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type Interceptor,
} from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js'
import type { RequestContext } from '../../domain/ports/runtime.ts'
import { type ErrorOptions, toConnectError } from '../messages/errors.ts'
import { mapErrors } from '../messages/interceptors.ts'

type CallRequest = Pick<IncomingMessage, 'method' | 'url'>

const REQUEST = createContextKey<CallRequest>({}, { description: 'the request that the call came in' })

export function contextValuesOf(request: CallRequest): ContextValues {
  return createContextValues().set(REQUEST, request)
}

/** As it was sent: a GET or a REST path becomes a call by POST. */
export function requestOf(values: ContextValues): CallRequest {
  return values.get(REQUEST)
}

export function recordRefusal(contexts: RequestContext, values: ContextValues, error: ConnectError): ConnectError {
  contexts.refused(requestOf(values), labelOf(error))
  return error
}

export interface TranslationOptions extends ErrorOptions {
  readonly requestContext: RequestContext
}

/** The error to send for one of the gate. */
export function translated(error: unknown, header: Headers, values: ContextValues, options: TranslationOptions) {
  return recordRefusal(options.requestContext, values, toConnectError(error, header, options))
}

/** Translates errors of handlers and of the validation. Must be the outermost interceptor. */
export function translateErrors(options: TranslationOptions): Interceptor {
  return (next) => async (req) => {
    const translate = (error: unknown) => translated(error, req.header, req.contextValues, options)
    try {
      const response = await next(req)
      if (!response.stream) return response
      return { ...response, message: mapErrors(response.message, translate) }
    } catch (error) {
      throw translate(error)
    }
  }
}

/** The reason of an error. Without a reason its code, such as `DEADLINE_EXCEEDED`. */
export function labelOf(error: ConnectError): string {
  const code = Code[error.code].replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  return error.findDetails(ErrorInfoSchema)[0]?.reason ?? code
}
