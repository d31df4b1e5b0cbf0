/**
 * `/healthz` and `/readyz`, for whoever starts, restarts and balances servers.
 */
import { type Handler, sendJson } from './exchange.ts'

/** Whether the server can do its work, and what its operator should know all the same; if not, why. */
export type Readiness =
  | { readonly ready: true; readonly warnings?: readonly string[] }
  | { readonly ready: false; readonly reason: string }

/** 200 while the process lives. */
export const healthz: Handler = (_req, res) => sendJson(res, 200, { status: 'ok' })

/** 200 while the server can do its work, with the warnings that there are; otherwise 503 with the reason. */
export function readyz(readiness: () => Readiness): Handler {
  return (_req, res) => {
    const state = readiness()
    if (!state.ready) return sendJson(res, 503, { status: 'not ready', reason: state.reason })
    const { warnings = [] } = state
    sendJson(res, 200, { status: 'ready', ...(warnings.length > 0 ? { warnings } : {}) })
  }
}
