/** The liveness and readiness probes, `/healthz` and `/readyz`. */
import type { Readiness } from '../../domain/ports/runtime.ts'
import { type Handler, sendJson } from './exchange.ts'

/** 200 while the process runs. */
export const healthz: Handler = (_req, res) => sendJson(res, 200, { status: 'ok' })

/** 200 with the warnings while the server is ready, otherwise 503 with the reason. */
export function readyz(readiness: () => Readiness): Handler {
  return (_req, res) => {
    const state = readiness()
    if (!state.ready) return sendJson(res, 503, { status: 'not ready', reason: state.reason })
    const { warnings, standby } = state
    sendJson(res, 200, {
      status: 'ready',
      ...(standby === undefined
        ? {}
        : { database: 'standby', staleness_seconds: Math.floor(standby.stalenessSeconds) }),
      ...(warnings.length > 0 ? { warnings } : {}),
    })
  }
}
