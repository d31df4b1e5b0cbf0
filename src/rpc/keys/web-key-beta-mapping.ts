/**
 * Web keys as messages of `iam.webkey.v2beta`.
 */
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { State, WebKeySchema, type WebKey as WireWebKey } from '../../../gen/iam/webkey/v2beta/web_key_pb.js'
import type { WebKey, WebKeyState } from '../../domain/keys/web-key.ts'

const STATES = {
  initial: State.INITIAL,
  active: State.ACTIVE,
  inactive: State.INACTIVE,
} as const satisfies Record<WebKeyState, State>

/** The state on the wire. */
export function fromState(state: WebKeyState): State {
  return STATES[state]
}

/** A web key on the wire (Spec §2.2). */
export function fromWebKey(key: WebKey): WireWebKey {
  return create(WebKeySchema, {
    keyId: key.keyId,
    algorithm: key.algorithm,
    state: fromState(key.state),
    creationDate: timestampFromDate(key.createdAt),
    ...(key.state === 'initial' ? {} : { activationDate: timestampFromDate(key.activatedAt) }),
    ...(key.state === 'inactive' ? { deactivationDate: timestampFromDate(key.deactivatedAt) } : {}),
  })
}
