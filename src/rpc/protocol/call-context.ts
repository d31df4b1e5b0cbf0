/**
 * The notes about a request, for those who know only the call that it is.
 */
import { Code, type ConnectError, type ContextValues, createContextKey, createContextValues } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js'
import type { RequestContext } from '../../domain/ports.ts'
import type { StreamOrigin } from '../public/open-streams.ts'

const REQUEST = createContextKey<object | undefined>(undefined, { description: 'the request that the call came in' })
const CUT_OFF = createContextKey<() => void>(() => {}, { description: 'ends the call at once' })

export class CallContexts {
  readonly #notes: RequestContext

  constructor(notes: RequestContext) {
    this.#notes = notes
  }

  /**
   * The values with which a call begins, so that what is noted about it is noted about the request.
   *
   * @param cutOff Ends the call at once, whatever its client has not taken yet.
   */
  valuesFor(request: object, cutOff: () => void): ContextValues {
    return createContextValues().set(REQUEST, request).set(CUT_OFF, cutOff)
  }

  /** Where the call comes from. */
  originOf(values: ContextValues): StreamOrigin {
    const request = values.get(REQUEST) ?? values
    return {
      address: this.#notes.addressOf(request),
      connection: this.#notes.connectionOf(request),
      cutOff: values.get(CUT_OFF),
    }
  }

  /** Who has proved to make the call. */
  identified(values: ContextValues, userId: string): void {
    const request = values.get(REQUEST)
    if (request !== undefined) this.#notes.identified(request, userId)
  }

  /** The error that is sent. */
  refused(values: ContextValues, error: ConnectError): void {
    const request = values.get(REQUEST)
    if (request !== undefined) this.#notes.refused(request, wordFor(error))
  }
}

/** The reason of an error; its code, such as `DEADLINE_EXCEEDED`, if no reason goes with it. */
function wordFor(error: ConnectError): string {
  const code = Code[error.code].replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  return error.findDetails(ErrorInfoSchema)[0]?.reason ?? code
}
